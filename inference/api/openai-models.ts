/** When a model was made is not known; clients want the field. */
export function openaiModel(id: string): object {
  return { id, object: 'model', created: 0, owned_by: 'quarry' }
}
