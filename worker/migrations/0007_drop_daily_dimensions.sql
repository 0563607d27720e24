-- Replaced by three tables. For API processes of the previous version, a view reads the same from them.
DROP TABLE IF EXISTS clicks_1d_by SETTINGS max_table_size_to_drop = 0;
CREATE VIEW IF NOT EXISTS clicks_1d_by AS
SELECT subject_id AS link_id, account_id, mode, bucket,
       CAST(row.1 AS Enum8('country' = 1, 'region' = 2, 'city' = 3, 'browser' = 4, 'os' = 5, 'device' = 6,
                           'referrer' = 7)) AS dimension,
       row.2 AS value, row.3 AS country, row.4 AS region, row.5 AS region_name, clicks
  FROM (
    SELECT subject_id, account_id, mode, bucket, clicks,
           arrayJoin([
             ('country', toString(country), '', '', ''),
             ('region', toString(region), toString(country), '', toString(region_name)),
             ('city', toString(city), toString(country), toString(region), toString(region_name))
           ]) AS row
      FROM clicks_1d_places
     WHERE subject_id != account_id
    UNION ALL
    SELECT subject_id, account_id, mode, bucket, clicks,
           arrayJoin(arrayFilter(named -> named.2 != '', [
             ('browser', toString(browser), '', '', ''),
             ('os', toString(os), '', '', ''),
             ('device', toString(device), '', '', '')
           ])) AS row
      FROM clicks_1d_agents
     WHERE subject_id != account_id
    UNION ALL
    SELECT subject_id, account_id, mode, bucket, clicks, ('referrer', toString(referrer), '', '', '') AS row
      FROM clicks_1d_referrers
     WHERE subject_id != account_id
  );
