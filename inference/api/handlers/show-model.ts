import { ServiceError } from '../../../lib/errors.ts'
import { NO_TIME, modelDetails } from '../ollama-models.ts'
import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

interface ShowBody {
  readonly model: string
  /** The name of `model` in older clients. */
  readonly name: string
}

export const showModel: Handler = (request, { service }) => {
  const { model: named, name } = validatedBody<ShowBody>(request)
  const asked = named ?? name
  if (asked === undefined) throw new ServiceError('INVALID_ARGUMENT', 'model is required')
  const model = service.requireServed(asked)
  const { kind, maxTokens, capabilities } = model
  return jsonPiecesReply({
    details: modelDetails(model),
    model_info: {
      'general.architecture': kind,
      ...(maxTokens === undefined ? {} : { [`${kind}.context_length`]: maxTokens }),
    },
    capabilities,
    modified_at: NO_TIME,
    parameters: '',
    template: '',
    license: '',
  })
}
