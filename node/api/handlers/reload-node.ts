import { validatedBody } from '../../../door/operation.ts'
import type { LogLevel } from '../../../lib/log.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const reloadNode: Handler = async (request, { settings }) => {
  const { log_level: logLevel } = validatedBody<{ readonly log_level: LogLevel }>(request)
  return jsonReply(200, await settings.reload({ logLevel }))
}
