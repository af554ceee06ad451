{% set part = "included" %}
echo "a part for {{ params.who }}"
