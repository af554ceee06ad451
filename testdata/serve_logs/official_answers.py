"""What Airflow's own log server answers to requests that are read from standard input.

The input is a JSON list of `{"method", "path", "headers", "token"}`; a token is `null`, or what it is made
of: `{"kind", "claims"}`. The answer has, of each, the token as it was made, the status, some headers and the
body.
"""

from __future__ import annotations

import json
import sys
import time

import jwt
from airflow.api_fastapi.auth.tokens import JWTGenerator
from airflow.configuration import conf
from airflow.utils.serve_logs.log_server import create_app
from fastapi.testclient import TestClient

AUDIENCE = "task-instance-logs"
HEADERS = ("content-type", "content-length", "content-range", "accept-ranges", "allow")


def make(wanted: dict | None) -> str | None:
    if wanted is None:
        return None
    secret = conf.get_mandatory_value("api", "secret_key")
    claims, now = wanted["claims"], int(time.time())
    match wanted["kind"]:
        case "official":
            generator = JWTGenerator(
                secret_key=secret, algorithm="HS512", valid_for=30, audience=AUDIENCE, issuer=None
            )
            return generator.generate(claims)
        case "shifted":
            shift = claims.pop("shift")
            times = {"iat": now + shift, "nbf": now + shift, "exp": now + shift + 60}
            return jwt.encode({"aud": AUDIENCE, **times, **claims}, secret, algorithm="HS512")
        case "raw":
            times = {"iat": now, "nbf": now, "exp": now + 60}
            payload = {"aud": AUDIENCE, **times, **claims}
            payload = {key: value for key, value in payload.items() if value is not None}
            return jwt.encode(payload, secret, algorithm=wanted.get("algorithm", "HS512"))
        case "other key":
            times = {"iat": now, "nbf": now, "exp": now + 60}
            return jwt.encode({"aud": AUDIENCE, **times, **claims}, "x" * 64, algorithm="HS512")
        case "text":
            return claims["text"]
        case other:
            raise ValueError(other)


def main() -> None:
    client = TestClient(create_app(), follow_redirects=False)
    answers = []
    for request in json.load(sys.stdin):
        token = make(request["token"])
        headers = dict(request["headers"])
        if token is not None:
            headers["Authorization"] = token
        answer = client.request(request["method"], request["path"], headers=headers)
        answers.append(
            {
                "token": token,
                "status": answer.status_code,
                "headers": {name: answer.headers[name] for name in HEADERS if name in answer.headers},
                "body": answer.text,
            }
        )
    print(json.dumps(answers))


main()
