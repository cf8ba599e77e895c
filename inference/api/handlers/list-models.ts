import type { Handler } from '../operation.ts'
import { jsonPiecesReply } from '../pieces-reply.ts'

export const listModels: Handler = (_request, { service }) => {
  const capabilities = service.recognizerCapabilities()
  const info = [...capabilities].map(([name, each]) => [name, { capabilities: each }])
  const extractors = [...capabilities].filter(([, each]) => each.includes('zeroshot'))
  return jsonPiecesReply({
    chunkers: service.namesOf('chunker'),
    rerankers: service.namesOf('reranker'),
    embedders: service.namesOf('embedder'),
    generators: service.namesOf('generator'),
    recognizers: service.namesOf('recognizer'),
    extractors: extractors.map(([name]) => name),
    rewriters: service.namesOf('rewriter'),
    recognizer_info: Object.fromEntries(info),
  })
}
