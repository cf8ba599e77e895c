// Every operation of the contract and who handles it; test/contract compares both with the files.

import { chunk } from './handlers/chunk.ts'
import { createChatCompletion } from './handlers/create-chat-completion.ts'
import { createEmbeddings } from './handlers/create-embeddings.ts'
import { embed } from './handlers/embed.ts'
import { generate } from './handlers/generate.ts'
import { getContract } from './handlers/get-contract.ts'
import { getDocs } from './handlers/get-docs.ts'
import { getHealth } from './handlers/get-health.ts'
import { getReadiness } from './handlers/get-readiness.ts'
import { getVersion } from './handlers/get-version.ts'
import { listModels } from './handlers/list-models.ts'
import { listOpenaiModels } from './handlers/list-openai-models.ts'
import { recognize } from './handlers/recognize.ts'
import { rerank } from './handlers/rerank.ts'
import { rewrite } from './handlers/rewrite.ts'
import type { Handler } from './operation.ts'

export const handlerByOperation: ReadonlyMap<string, Handler> = new Map(
  Object.entries({
    chunk,
    createChatCompletion,
    createEmbeddings,
    embed,
    generate,
    getContract,
    getDocs,
    getHealth,
    getReadiness,
    getVersion,
    listModels,
    listOpenaiModels,
    recognize,
    rerank,
    rewrite,
  }),
)
