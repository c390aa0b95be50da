// Walks the journey with the TypeScript client of the 2.x line, in the era that is asked for.
// Takes one JSON argument, {target, calls, era, modules}, and prints {protocol, tools, told}.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const asked = JSON.parse(process.argv[2]);
const require = createRequire(pathToFileURL(asked.modules + "/"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

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
const client = new Client(
  { name: "referee", version: "0" },
  { versionNegotiation: { mode: asked.era } },
);
await client.connect(transport);
const protocol = client.getNegotiatedProtocolVersion();
const { tools } = await client.listTools();
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
