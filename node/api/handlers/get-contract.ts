import { bytesReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const getContract: Handler = (_request, { contract }) =>
  bytesReply(200, contract.text, ['Content-Type', 'application/yaml; charset=utf-8'])
