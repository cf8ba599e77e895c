// Models in the shapes that Ollama's clients read. What is not known of ONNX files is empty.

import type { ServedModelInfo } from '../service/inference-service.ts'

/** When a model was made is not known; clients want a time. */
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
