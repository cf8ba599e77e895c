import { unreachable } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import type {
  CohereRerankerConfig,
  QuarryRerankerConfig,
  RerankerConfig,
  VertexRerankerConfig,
} from '../config/provider-config.ts'
import { PROVIDERS } from '../config/provider-table.ts'
import type { Judgement, Reranker } from '../contract/provider.ts'
import { refused, unavailable } from '../contract/provider-error.ts'
import { AnswerValue } from './answer-reader.ts'
import { PacedCalls } from './paced-calls.ts'
import { vertexCall } from './vertex-call.ts'
import { TEXT_ANSWER_BYTES_MAX, bearer, endpointOf, keyOf, nameOf } from './wire-parts.ts'
import type { WireParts } from './wire-parts.ts'

interface Question {
  readonly query: string
  readonly documents: readonly string[]
  readonly signal: AbortSignal
}

/** An answer as it was read. A score is undefined for a document that it leaves out. */
interface RawJudgement extends Pick<Judgement, 'cutCount'> {
  readonly scores: readonly (number | undefined)[]
}

/** How one provider is asked, as a query says. */
interface Ranking {
  readonly documentsMax: number
  ask(question: Question): Promise<RawJudgement>
}

/** More would hold a query too long in any case. */
const BYTES_MAX = 8 * 1024 * 1024

/** Opens a reranker. Nothing is asked of the provider until the first call. */
export function openReranker(config: RerankerConfig, wire: WireParts, clock: Clock): Reranker {
  const name = nameOf(config)
  const ranking = rankingOf(config, wire)
  const calls = new PacedCalls(name, clock)
  return {
    name,
    rerank: async (query, documents, { signal }) => {
      if (documents.length === 0) return { scores: [], cutCount: 0 }
      const bytes = documents.reduce((sum, each) => sum + Buffer.byteLength(each), 0)
      if (documents.length > ranking.documentsMax || bytes > BYTES_MAX) {
        throw refused(
          `${name}: ${documents.length} documents of ${bytes} bytes are too many; it takes ${ranking.documentsMax}, and ${BYTES_MAX} bytes`,
        )
      }
      const { scores, cutCount } = await calls.run({ bytes, isUrgent: true, signal }, (either) =>
        ranking.ask({ query, documents, signal: either }),
      )
      return { scores: checked(scores, { name, count: documents.length }), cutCount }
    },
    close: async () => calls.close(),
  }
}

function rankingOf(config: RerankerConfig, wire: WireParts): Ranking {
  switch (config.provider) {
    case 'quarry':
      return quarryRanking(config, wire)
    case 'cohere':
      return cohereRanking(config, wire)
    case 'vertex':
      return vertexRanking(config, wire)
    default:
      return unreachable(config)
  }
}

function checked(
  scores: readonly (number | undefined)[],
  { name, count }: { readonly name: string; readonly count: number },
): readonly number[] {
  const known = scores.filter((score) => score !== undefined && Number.isFinite(score))
  if (scores.length === count && known.length === count) return known.map(Number)
  throw unavailable(`${name}: it answered ${known.length} finite scores to ${count} documents`)
}

function quarryRanking(config: QuarryRerankerConfig, wire: WireParts): Ranking {
  const name = nameOf(config)
  return {
    documentsMax: 2_048,
    ask: async ({ query, documents, signal }) => {
      const answer = await wire.caller.callForJson({
        name,
        endpoint: await endpointOf(wire, config, 'query'),
        path: '/api/rerank',
        headers: {},
        body: { model: config.model, query, prompts: documents },
        answerBytesMax: TEXT_ANSWER_BYTES_MAX,
        timeoutMs: wire.timeouts.rerankMs,
        signal,
      })
      const read = new AnswerValue(answer, name)
      const cut = read.member('truncated')
      return {
        scores: read
          .member('scores')
          .list()
          .map((score) => score.number()),
        // Earlier versions of the server do not tell.
        cutCount: cut.isAbsent ? undefined : cut.position(documents.length + 1),
      }
    },
  }
}

function cohereRanking(config: CohereRerankerConfig, wire: WireParts): Ranking {
  const name = nameOf(config)
  return {
    documentsMax: 1_000,
    ask: async ({ query, documents, signal }) => {
      const endpoint = await endpointOf(wire, config, 'query')
      const { keyVariable = '' } = PROVIDERS.cohere
      keyOf(endpoint, name, keyVariable)
      const answer = await wire.caller.callForJson({
        name,
        endpoint,
        path: '/v2/rerank',
        headers: bearer(endpoint),
        body: {
          model: config.model,
          query,
          documents,
          top_n: documents.length,
          max_tokens_per_doc: config.tokensPerDocumentMax,
        },
        answerBytesMax: TEXT_ANSWER_BYTES_MAX,
        timeoutMs: wire.timeouts.rerankMs,
        signal,
      })
      const scores = documents.map((): number | undefined => undefined)
      for (const result of new AnswerValue(answer, name).member('results').list()) {
        const index = result.member('index').position(documents.length)
        scores[index] = result.member('relevance_score').number()
      }
      return { scores, cutCount: undefined }
    },
  }
}

function vertexRanking(config: VertexRerankerConfig, wire: WireParts): Ranking {
  const name = nameOf(config)
  return {
    documentsMax: 200,
    ask: async ({ query, documents, signal }) => {
      // Rankings live in one location, whatever the models' is.
      const answer = await vertexCall(
        wire,
        { ...config, location: 'global' },
        {
          name,
          asker: 'query',
          ownUrl: () => 'https://discoveryengine.googleapis.com',
          path: ({ project }) =>
            `/v1/projects/${project}/locations/global/rankingConfigs/default_ranking_config:rank`,
          body: {
            model: config.model,
            query,
            records: documents.map((content, at) => ({ id: String(at), content })),
            ignoreRecordDetailsInResponse: true,
          },
          answerBytesMax: TEXT_ANSWER_BYTES_MAX,
          timeoutMs: wire.timeouts.rerankMs,
          signal,
        },
      )
      const scores = documents.map((): number | undefined => undefined)
      for (const record of new AnswerValue(answer, name).member('records').list()) {
        const at = Number(record.member('id').text())
        if (!Number.isInteger(at) || at < 0 || at >= documents.length) {
          throw unavailable(`${name}: it answered a record that it was not sent`)
        }
        scores[at] = record.member('score').number()
      }
      return { scores, cutCount: undefined }
    },
  }
}
