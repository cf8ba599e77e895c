import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const getHealth: Handler = () => jsonReply(200, { status: 'ok' })
