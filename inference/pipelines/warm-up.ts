/**
 * What a model is run with when it is loaded, cut to what it takes: as many tokens as a batch has by
 * default. A graph that cannot run what its configuration promises is found out then and not by a
 * client, and the memory of a usual batch is there before the first one comes.
 */
export const WARM_UP_TEXT = 'a '.repeat(512)
