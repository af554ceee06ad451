{# Included before it runs. #}
{% include 'templates/part.sh' %}
echo "{{ dag.dag_id }} on {{ ds }} by {{ part | default('nobody') }}"
