SELECT name FROM pragma_table_info(?) ORDER BY cid
