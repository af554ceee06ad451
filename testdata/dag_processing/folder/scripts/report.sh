#!/bin/sh
# A template that is read when the DAG file is parsed.
echo "report of {{ ds }}"
