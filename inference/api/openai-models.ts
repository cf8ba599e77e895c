/** Clients require the time at which a model was made, which the server does not know. */
export function openaiModel(id: string): object {
  return { id, object: 'model', created: 0, owned_by: 'quarry' }
}
