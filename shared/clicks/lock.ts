/** The number of PostgreSQL's advisory lock under which rollups are repaired: one process at a time. */
export const REPAIR_LOCK = 7_302_114;
