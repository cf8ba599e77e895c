import type { Handler } from '../operation.ts'
import { answerQueries } from '../query-replies.ts'

export const queryGlobal: Handler = (request, context) => answerQueries(request, context, undefined)
