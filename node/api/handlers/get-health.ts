import { bytesReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

const OK = bytesReply(200, Buffer.from('ok'), ['Content-Type', 'text/plain; charset=utf-8'])

export const getHealth: Handler = () => OK
