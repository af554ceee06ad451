"""A secrets backend that somebody wrote."""

from airflow.secrets import BaseSecretsBackend


class OwnBackend(BaseSecretsBackend):
    def get_connection(self, conn_id):
        if conn_id == "broken":
            raise RuntimeError("the vault is sealed")
        if conn_id == "mine":
            # Airflow loads the backend while it loads itself.
            from airflow.models.connection import Connection

            return Connection(conn_id, uri="postgres://me:s3cret@db:5433/sales?sslmode=require")
        return None

    def get_variable(self, key):
        return "from the vault" if key == "mine" else None
