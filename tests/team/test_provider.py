"""An identity provider vouches for people at the Console, and for the tokens of their agents at `/mcp`."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from handrail_team.accounts.credentials import digest_secret
from handrail_team.accounts.provider import Provider, ProviderOptions
from tests.surfaces.http.client import Answered
from tests.team.team_server import ORIGIN, PAGE, Caller, Server

pytestmark = pytest.mark.thorough

BINDING = "ab" * 32
NAVIGATION = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
]


@pytest.fixture
def issuer() -> Iterator[str]:
    """A provider from the package registry, in a thread of its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import oidc_provider_mock  # type: ignore[import-untyped]  # it ships no types
    except ImportError as missing:
        pytest.skip(f"no OpenID provider: install oidc-provider-mock ({missing})")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with oidc_provider_mock.run_server_in_thread() as running:
            yield f"http://localhost:{running.server_port}"


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def approve(address: str, subject: str) -> dict[str, str]:
    """What a person does at the provider: signs in, and is led back."""
    opener = urllib.request.build_opener(Stay)
    with pytest.raises(urllib.error.HTTPError) as led:
        opener.open(address, data=urllib.parse.urlencode({"sub": subject}).encode(), timeout=10)
    led.value.close()
    back = str(led.value.headers["Location"])
    assert back.startswith(f"{ORIGIN}/sign-in/callback?")
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))


def begin(server: Server, invitation: str = "") -> str:
    asked = urllib.parse.urlencode({"binding": BINDING, "invitation": invitation})
    told = server.ask("GET", f"/sign-in/provider?{asked}", "", PAGE)
    assert told.status == 302, told.body
    return told.header("location") or ""


def come_back(server: Server, given: dict[str, str]) -> Answered:
    return server.ask("GET", f"/sign-in/callback?{urllib.parse.urlencode(given)}", "", *NAVIGATION)


def test_people_sign_in_through_the_provider_on_any_server(
    team_database: str, tmp_path: Path, issuer: str
) -> None:
    told = {"issuer": issuer, "origin": ORIGIN, "client_id": "handrail", "client_secret": "s3cret-of-ours"}
    one, other = (Server(team_database, tmp_path / name, provider=told) for name in ("one", "other"))
    invitation = one.invite(one.workspace("main"), "owner")

    given = approve(begin(one, invitation), "ana")
    joined = come_back(other, given)
    again = come_back(other, approve(begin(one), "ana"))
    stranger = come_back(one, approve(begin(one), "eve"))
    reused = come_back(one, approve(begin(one, invitation), "eve"))
    forged = come_back(one, {**approve(begin(one), "ana"), "state": given["state"][:-2] + "xx"})
    mixed = come_back(one, {**approve(begin(one), "ana"), "state": given["state"]})

    assert [told.status for told in (joined, again)] == [302, 302]
    assert [told.status for told in (stranger, reused, forged, mixed)] == [401] * 4
    token, _, binding = (again.header("location") or "").removeprefix("/#signed=").partition(".")
    assert binding == BINDING
    rows = Caller(one, token, is_page=True).data("team.members")["items"]
    assert [(row["role"], row["is_me"]) for row in rows] == [("owner", True)]
    assert one.ask("GET", "/sign-in", "").document == {"ways": ["passphrase", "provider"]}


class Issuer:
    """Signs what a test wants signed, and publishes its keys."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        published: dict[str, dict[str, Any]] = {
            "/jwks": {"keys": [{**jwk, "kid": "k1", "use": "sig", "alg": "RS256"}]}
        }

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(published.get(self.path, {})).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        published["/.well-known/openid-configuration"] = {"issuer": self.url, "jwks_uri": f"{self.url}/jwks"}
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def sign(self, key: Any = None, algorithm: str = "RS256", kid: str = "k1", **claims: Any) -> str:
        told = {
            "iss": self.url,
            "sub": "ana",
            "aud": f"{ORIGIN}/mcp",
            "exp": int(time.time()) + 600,
            "scope": "read work",
            **claims,
        }
        kept = {name: value for name, value in told.items() if value is not None}
        return jwt.encode(kept, key or self.key, algorithm=algorithm, headers={"kid": kid})


@pytest.fixture
def signer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_jwt_opens_mcp_alone_as_an_agent_of_its_person(
    team_database: str, tmp_path: Path, signer: Issuer
) -> None:
    server = Server(team_database, tmp_path, provider={"issuer": signer.url, "origin": ORIGIN})
    workspace = server.workspace("main")
    invitation = digest_secret(server.invite(workspace, "owner"))
    server.accounts.directory.accept_subject(invitation, "Ana", signer.url, "ana")
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    wrong = {
        "another audience": signer.sign(aud=ORIGIN),
        "no audience": signer.sign(aud=None),
        "another issuer": signer.sign(iss="https://elsewhere.example.com"),
        "expired": signer.sign(exp=int(time.time()) - 120),
        "without an end": signer.sign(exp=None),
        "nobody here": signer.sign(sub="eve"),
        "another key": signer.sign(key=other),
        "an unknown key": signer.sign(kid="k2"),
        "no signature": jwt.encode({"sub": "ana"}, "", algorithm="none"),
        "the public key as a secret": jwt.encode({"sub": "ana"}, "k" * 32, algorithm="HS256"),
    }

    good = Caller(server, signer.sign(), is_page=False)
    reader = Caller(server, signer.sign(scope="read"), is_page=False)
    start = {"workflowId": "wr.small_change", "goal": "Look."}

    assert json.loads(good.tool("start_workflow", **start).body)["result"].get("isError") is not True
    assert json.loads(reader.tool("start_workflow", **start).body)["result"]["isError"] is True
    assert good.call("session.list").status == 401
    told = {
        name: Caller(server, token, is_page=False).tool("list_workflows") for name, token in wrong.items()
    }
    assert {name: one.status for name, one in told.items()} == dict.fromkeys(wrong, 401)
    assert told["expired"].header("www-authenticate") == (
        f'Bearer realm="handrail", resource_metadata="{ORIGIN}/.well-known/oauth-protected-resource/mcp"'
    )


def test_resource_names_an_existing_authorization_server(
    team_database: str, tmp_path: Path, signer: Issuer
) -> None:
    plain = Server(team_database, tmp_path / "plain")
    with_issuer = Server(team_database, tmp_path / "with", provider={"issuer": signer.url, "origin": ORIGIN})
    at = "/.well-known/oauth-protected-resource/mcp"

    told = [one.ask("GET", at, "").document for one in (plain, with_issuer)]

    assert [one["resource"] for one in told] == [f"{ORIGIN}/mcp"] * 2
    assert [one.get("authorization_servers") for one in told] == [None, [signer.url]]


def test_a_provider_that_others_could_answer_for_is_refused() -> None:
    with pytest.raises(Exception, match="https"):
        Provider(ProviderOptions(issuer="http://idp.example.com", origin=ORIGIN))
