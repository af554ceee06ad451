"""Prints as JSON what PyYAML reads in the YAML on standard input."""

import json
import sys

import yaml

json.dump(yaml.safe_load(sys.stdin), sys.stdout)
