SELECT s.asset_id, s.dag_id FROM dag_schedule_asset_reference s WHERE s.asset_id IN ({few})
UNION
SELECT o.asset_id, o.dag_id FROM task_outlet_asset_reference o WHERE o.asset_id IN ({few})
UNION
SELECT i.asset_id, i.dag_id FROM task_inlet_asset_reference i WHERE i.asset_id IN ({few})
