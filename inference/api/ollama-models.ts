// Models in the shapes that Ollama's clients read. Members that ONNX files do not tell are empty.

import type { ServedModelInfo } from '../service/inference-service.ts'

/** Clients require the time at which a model was made, which the server does not know. */
export const NO_TIME = new Date(0).toISOString()

export function modelDetails({ kind, variant }: ServedModelInfo): object {
  return {
    parent_model: '',
    format: 'onnx',
    family: kind,
    families: [kind],
    parameter_size: '',
    quantization_level: variant,
  }
}

export function modelTag(model: ServedModelInfo): object {
  const { name, fileBytes: size } = model
  const details = modelDetails(model)
  return { name, model: name, modified_at: NO_TIME, size, digest: '', details }
}
