"""Logs in at the database server of a URL and asks it something. Run by the virtualenv's Python,
which has the drivers."""

import sys
from urllib.parse import urlsplit

import psycopg2
import pymysql

url = urlsplit(sys.argv[1])
# The driver, and what it takes for granted otherwise: a database named like the user.
driver, options = (pymysql, {}) if url.scheme == "mysql" else (psycopg2, {"dbname": "postgres"})
connection = driver.connect(
    host=url.hostname,
    port=url.port,
    user=url.username,
    password=url.password,
    connect_timeout=5,
    **options,
)
with connection.cursor() as cursor:
    cursor.execute("SELECT 1")
connection.close()
