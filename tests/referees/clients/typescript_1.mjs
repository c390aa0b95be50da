// Walks the journey with the TypeScript client of the 1.x line, which checks results against output schemas.
// Takes one JSON argument, {target, calls, modules}, and prints {protocol, tools, told}.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const asked = JSON.parse(process.argv[2]);
const require = createRequire(pathToFileURL(asked.modules + "/"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");

const { target } = asked;
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport({
      command: target.command[0],
      args: target.command.slice(1),
      env: target.env,
      cwd: target.cwd,
      stderr: "ignore",
    });
const client = new Client({ name: "referee", version: "0" });
let protocol = "";
transport.setProtocolVersion = ((before) => (version) => {
  protocol = version;
  before?.call(transport, version);
})(transport.setProtocolVersion);
await client.connect(transport);
const { tools } = await client.listTools(); // from here on the client checks results against the schemas
const told = [];
let last = {};
for (const call of asked.calls) {
  const name = call.tool ?? last.nextCall.tool;
  const sent = call.arguments ?? { ...last.nextCall.params, ...call.add };
  const result = await client.callTool({ name, arguments: sent });
  last = result.structuredContent;
  told.push({ structured: last, text: result.content[0].text, isError: result.isError ?? false });
}
await client.close();
process.stdout.write(JSON.stringify({ protocol, tools: tools.map((tool) => tool.name), told }));
