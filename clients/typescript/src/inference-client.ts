// The inference server's API below /api, by the operationIds of openapi/inference.v1.yaml. What it
// serves in the shapes of OpenAI and Ollama is for their own clients.
//
// Every method rejects with a QuarryError (see errors.ts), or with the reason of the caller's signal.
// Nothing here changes anything on the server, so every call may be sent again.

import type {
  ChunkAnswer,
  ChunkRequest,
  Completion,
  EmbedRequest,
  GenerateRequest,
  ModelList,
  Readiness,
  RecognizeAnswer,
  RecognizeRequest,
  RerankAnswer,
  RerankRequest,
  RewriteAnswer,
  RewriteRequest,
  Version,
} from './contract/inference.v1.ts'
import { ServiceError } from './errors.ts'
import { HttpTransport } from './http-transport.ts'
import type { Call, CallOptions, ClientOptions, Json } from './http-transport.ts'
import { vectorsOf } from './vector-answer.ts'

/** What the server adds to a completion. */
export interface CompletionPiece {
  readonly id: string
  readonly object: 'chat.completion.chunk'
  readonly created: number
  readonly model: string
  /** One, or none beside the usage at the end. */
  readonly choices: readonly CompletionPieceChoice[]
  /** At the end, if `stream_options` asked for it. */
  readonly usage?: Completion['usage'] | null
}

export interface CompletionPieceChoice {
  readonly index: number
  readonly delta: CompletionDelta
  /** Null until the last piece. */
  readonly finish_reason: Completion['choices'][number]['finish_reason'] | null
  readonly logprobs: Completion['choices'][number]['logprobs']
}

export interface CompletionDelta {
  readonly role?: 'assistant'
  readonly content?: string
  readonly tool_calls?: readonly ToolCallDelta[]
}

/** The first of a call has its id and name, the others more of its arguments. */
export interface ToolCallDelta {
  readonly index: number
  readonly id?: string
  readonly type?: 'function'
  readonly function: { readonly name?: string; readonly arguments: string }
}

export class InferenceClient {
  readonly #transport: HttpTransport

  constructor(options: ClientOptions) {
    this.#transport = new HttpTransport(options)
  }

  getHealth(options?: CallOptions): Promise<{ readonly status: 'ok' }> {
    return this.#get('/healthz', options)
  }

  /** Also of a server that is not ready, whose answer says why. */
  async getReadiness(options?: CallOptions): Promise<Readiness> {
    try {
      return await this.#get('/readyz', options)
    } catch (error) {
      const isAnswer = error instanceof ServiceError && error.code === 'HTTP_503'
      if (!isAnswer) throw error
      const body: Json = error.body
      return body
    }
  }

  /** The contract in YAML. */
  async getContract(options?: CallOptions): Promise<string> {
    const path = '/api/openapi.yaml'
    const call: Call = { method: 'GET', path, accept: 'application/yaml', options }
    return (await this.#transport.exchange(call)).text
  }

  getVersion(options?: CallOptions): Promise<Version> {
    return this.#get('/api/version', options)
  }

  listModels(options?: CallOptions): Promise<ModelList> {
    return this.#get('/api/models', options)
  }

  /** A vector for each input, in their order. They travel in binary. */
  async embed(request: EmbedRequest, options?: CallOptions): Promise<readonly Float32Array[]> {
    const call = { ...post('/api/embed', request, options), accept: 'application/octet-stream' }
    return vectorsOf(await this.#transport.bytes(call))
  }

  chunk(request: ChunkRequest, options?: CallOptions): Promise<ChunkAnswer> {
    return this.#transport.json(post('/api/chunk', request, options))
  }

  rerank(request: RerankRequest, options?: CallOptions): Promise<RerankAnswer> {
    return this.#transport.json(post('/api/rerank', request, options))
  }

  /** The whole answer; see `generatePieces` for one that is read while it is made. */
  generate(
    request: Omit<GenerateRequest, 'stream' | 'stream_options'>,
    options?: CallOptions,
  ): Promise<Completion> {
    return this.#transport.json(post('/api/generate', request, options))
  }

  /** Leave the loop to stop the model. It throws in its middle if the model fails or the answer breaks. */
  async *generatePieces(
    request: Omit<GenerateRequest, 'stream'>,
    options?: CallOptions,
  ): AsyncGenerator<CompletionPiece> {
    const call = post('/api/generate', { ...request, stream: true }, options)
    yield* this.#transport.events({ ...call, accept: 'text/event-stream' })
  }

  recognize(request: RecognizeRequest, options?: CallOptions): Promise<RecognizeAnswer> {
    return this.#transport.json(post('/api/recognize', request, options))
  }

  rewrite(request: RewriteRequest, options?: CallOptions): Promise<RewriteAnswer> {
    return this.#transport.json(post('/api/rewrite', request, options))
  }

  #get(path: string, options: CallOptions | undefined): Promise<Json> {
    return this.#transport.json({ method: 'GET', path, options })
  }
}

function post(path: string, json: object, options: CallOptions | undefined): Call {
  return { method: 'POST', path, json, repeatable: 'always', options }
}
