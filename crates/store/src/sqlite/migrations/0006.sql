-- What belongs to one state of a job is part of that state.
UPDATE state SET doc = json_set(
        doc, '$.state.release_at', json(coalesce(doc -> '$.release_at', 'null')),
        '$.state.releasing', json(coalesce(doc -> '$.releasing', '0')))
WHERE kind = 'job' AND doc ->> '$.state.state' = 'ended';

UPDATE state SET doc = json_set(
        doc, '$.state.held', json(coalesce(doc -> '$.held', 'false')),
        '$.state.successor_due', json(coalesce(doc -> '$.successor_due', 'false')))
WHERE kind = 'job' AND doc ->> '$.state.state' = 'respawning';

UPDATE state SET doc = json_set(doc, '$.state.end_wanted', json(coalesce(doc -> '$.end_wanted', 'null')))
WHERE kind = 'job' AND doc ->> '$.state.state' = 'merging';

UPDATE state SET doc = json_remove(doc, '$.release_at', '$.releasing', '$.held', '$.successor_due', '$.end_wanted')
WHERE kind = 'job' AND doc IS NOT NULL;
