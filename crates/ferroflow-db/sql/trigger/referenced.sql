SELECT w.trigger_id AS id FROM asset_watcher w WHERE w.trigger_id IN ({few})
UNION
SELECT i.trigger_id AS id FROM task_instance i WHERE i.trigger_id IN ({few})
UNION
SELECT c.trigger_id AS id FROM callback c WHERE c.trigger_id IN ({few})
