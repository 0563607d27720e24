/** PostgreSQL's advisory lock for rebuilding rollups: only one process may do so at a time. */
export const REPAIR_LOCK = 7_302_114;
