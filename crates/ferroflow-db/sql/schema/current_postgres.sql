SELECT CAST(current_schema() AS text) AS name
