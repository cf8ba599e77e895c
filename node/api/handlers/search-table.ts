import { textParameter } from '../../../door/operation.ts'
import { tableOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { answerQueries } from '../query-replies.ts'

/** Turns the parameters of a search box into a `simple` query. */
export const searchTable: Handler = (request, context) => {
  const { query, signal, memory } = request
  const searched = listOf(textParameter(query, 'search_fields'))
  const suggest = textParameter(query, 'suggest') ?? 'auto'
  const asked = {
    full_text_search: { simple: { query: textParameter(query, 'q') ?? '', fields: searched } },
    limit: query['limit'],
    offset: query['offset'],
    fields: listOf(textParameter(query, 'fields')),
    suggest: suggest === 'auto' ? suggest : suggest === 'true',
    timeout: textParameter(query, 'timeout'),
  }
  const body = Buffer.from(JSON.stringify(asked))
  return answerQueries({ body, query, signal, memory }, context, tableOf(request))
}

function listOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((name) => name.trim())
}
