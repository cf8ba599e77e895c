/**
 * The text that a model runs once while it is loaded, truncated to the model's limit. It has as many
 * tokens as a default batch. So a graph that contradicts its configuration fails at its load, and the
 * memory of a usual batch is allocated before the first request.
 */
export const WARM_UP_TEXT = 'a '.repeat(512)
