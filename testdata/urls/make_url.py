"""Take database URLs apart as SQLAlchemy does.

    python make_url.py < urls.json

Standard input is a JSON array of URLs; standard output an array of their parts.
"""

import json
import sys

from sqlalchemy.engine import make_url


def parts(text: str) -> dict[str, object]:
    url = make_url(text)
    return {
        "username": url.username or None,
        "password": url.password or None,
        "host": url.host or None,
        "port": url.port,
        "database": url.database or None,
        "query": [[key, value] for key, value in url.query.items()],
    }


if __name__ == "__main__":
    json.dump([parts(text) for text in json.load(sys.stdin)], sys.stdout)
