import type { Handler } from '../operation.ts'
import { readinessReply } from '../readiness-reply.ts'

export const getReadiness: Handler = (_request, { service }) => readinessReply(service.readiness())
