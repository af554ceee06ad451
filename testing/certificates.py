"""Makes an authority, a certificate of it for the servers, and another authority that made none.

    python certificates.py DIRECTORY

Run by the virtualenv's Python, which has the cryptography package.
"""

import datetime
import ipaddress
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


def main(directory: Path) -> None:
    authority, authority_key = _certificate("ferroflow test authority", None, None)
    server, server_key = _certificate("ferroflow test server", authority, authority_key)
    stranger, _ = _certificate("another authority", None, None)
    for name, certificate in (("ca", authority), ("server", server), ("other-ca", stranger)):
        (directory / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (directory / "server.key").write_bytes(
        server_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _certificate(common_name: str, issuer: x509.Certificate | None, issuer_key):
    """A certificate that the issuer signed, or an authority that signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    addresses = [x509.IPAddress(ipaddress.ip_address(HOST))]
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A clock may be a little behind.
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
    )
    return builder.sign(issuer_key or key, hashes.SHA256()), key


if __name__ == "__main__":
    main(Path(sys.argv[1]))
