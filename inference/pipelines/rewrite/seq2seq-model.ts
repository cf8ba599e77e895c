// Runs an encoder-decoder model. The encoder reads the source once, and the decoder writes one token
// at a time. The first step makes two caches for each layer: the decoder's cache grows with every
// step, the encoder's never changes.

import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Seq2SeqFiles } from '../../models/model-spec.ts'
import { buildTokenFeeds, floatsOf, integerTensor, rowWidth } from '../../runtime/graph-feeds.ts'
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.ts'
import type { Encoding } from '../../text/encoding.ts'
import type { TokenizerHandle } from '../../text/tokenizer-handle.ts'
import { gatherRows } from '../cache-rows.ts'
import { emptyCache, flagTensor, isCacheInput, presentName } from '../key-value-cache.ts'
import { outputName } from '../row-outputs.ts'
import type { BeamModel, BeamStep } from './beam-search.ts'

type Tensors = Readonly<Record<string, GraphTensor>>

/** The graphs of one model. */
export interface Seq2SeqSessions {
  readonly encoder: GraphSession
  /** The decoder's graph for the first step. */
  readonly first: GraphSession
  /** The decoder's graph for later steps; the same session as `first` if one graph does both. */
  readonly later: GraphSession
}

/** The decoder's cache, with one row for each beam. */
export interface Seq2SeqState {
  readonly cache: Tensors
  readonly rowCount: number
}

/** Opens all graphs. If one fails, it releases the others and rejects. */
export async function openSeq2SeqSessions(
  { encoderFile, decoder }: Seq2SeqFiles,
  openSession: (file: string) => Promise<GraphSession>,
): Promise<Seq2SeqSessions> {
  const opened: GraphSession[] = []
  const open = async (file: string): Promise<GraphSession> => {
    const session = await openSession(file)
    opened.push(session)
    return session
  }
  try {
    const encoder = await open(encoderFile)
    const first = await open(decoder.type === 'merged' ? decoder.file : decoder.firstFile)
    const later = decoder.type === 'merged' ? first : await open(decoder.laterFile)
    return { encoder, first, later }
  } catch (error) {
    for (const session of opened) await session.release()
    throw error
  }
}

/** Releases all sessions. */
export async function releaseSessions({ encoder, first, later }: Seq2SeqSessions): Promise<void> {
  for (const session of [encoder, first, later]) await session.release()
}

/** The encoder's states of a source; the mask has 1 for a token and 0 for padding. */
interface Source {
  readonly hidden: GraphTensor
  readonly mask: readonly number[]
}

/** Continues texts for one source. `read` runs the encoder. */
export class Seq2SeqWriter implements BeamModel<Seq2SeqState> {
  readonly #sessions: Seq2SeqSessions
  readonly #files: Seq2SeqFiles
  readonly #source: Source

  private constructor(sessions: Seq2SeqSessions, files: Seq2SeqFiles, source: Source) {
    this.#sessions = sessions
    this.#files = files
    this.#source = source
  }

  static async read(
    sessions: Seq2SeqSessions,
    files: Seq2SeqFiles,
    { encoding, tokenizer }: { readonly encoding: Encoding; readonly tokenizer: TokenizerHandle },
  ): Promise<Seq2SeqWriter> {
    const { encoder } = sessions
    const feeds = buildTokenFeeds(encoder.inputs, [encoding], tokenizer)
    const output =
      encoder.outputs.find(({ name }) => name === 'last_hidden_state')?.name ?? outputName(encoder)
    const answers = await encoder.run(feeds, [output])
    const hidden = must(answers[output], output)
    const own = encoding.ids.map(() => 1)
    const missing = rowWidth(encoder.inputs, [encoding]) - own.length
    const padding = Array.from({ length: missing }, () => 0)
    const mask = tokenizer.paddingSide === 'left' ? [...padding, ...own] : [...own, ...padding]
    return new Seq2SeqWriter(sessions, files, { hidden, mask })
  }

  async start(): Promise<BeamStep<Seq2SeqState>> {
    const { first, later } = this.#sessions
    const pastInputs = first.inputs.filter(({ name }) => isCacheInput(name))
    const answers = await first.run({
      ...this.#feeds(first, [this.#files.startId], false),
      ...emptyCache(pastInputs, this.#files),
    })
    const cacheInputs = later.inputs.filter(({ name }) => isCacheInput(name))
    const cache = Object.fromEntries(
      cacheInputs.map(({ name }) => [name, must(answers[presentName(name)], presentName(name))]),
    )
    return { state: { cache, rowCount: 1 }, logits: lastRows(answers, first, 1) }
  }

  async step(
    state: Seq2SeqState,
    parents: readonly number[],
    tokens: readonly number[],
  ): Promise<BeamStep<Seq2SeqState>> {
    const { later } = this.#sessions
    const cache = arrangeRows(state, parents)
    const answers = await later.run({ ...this.#feeds(later, tokens, true), ...cache })
    // Graphs that answer the encoder's cache again answer an empty one, so the first one is kept.
    const grown = Object.entries(cache).map(([name, past]): [string, GraphTensor] => {
      const present = name.includes('.encoder.') ? undefined : answers[presentName(name)]
      return [name, present ?? past]
    })
    return {
      state: { cache: Object.fromEntries(grown), rowCount: parents.length },
      logits: lastRows(answers, later, parents.length),
    }
  }

  #feeds(
    { inputs }: GraphSession,
    tokens: readonly number[],
    isLater: boolean,
  ): Record<string, GraphTensor> {
    const { hidden, mask } = this.#source
    const rows = tokens.length
    const feeds: Record<string, GraphTensor> = {}
    for (const slot of inputs) {
      const { name } = slot
      if (name === 'input_ids' || name === 'decoder_input_ids') {
        feeds[name] = integerTensor(slot, [rows, 1], tokens)
      } else if (name === 'encoder_attention_mask') {
        const masks = Array.from({ length: rows }, () => mask)
        feeds[name] = integerTensor(slot, [rows, mask.length], masks.flat())
      } else if (name === 'encoder_hidden_states') {
        feeds[name] = gatherRows(
          hidden,
          Array.from(tokens, () => 0),
        )
      } else if (name === 'use_cache_branch') feeds[name] = flagTensor(slot, isLater)
    }
    return feeds
  }
}

/** Each beam gets the cache of the beam that it continues. */
function arrangeRows({ cache, rowCount }: Seq2SeqState, parents: readonly number[]): Tensors {
  const isSame = parents.length === rowCount && parents.every((parent, index) => parent === index)
  if (isSame) return cache
  return Object.fromEntries(
    Object.entries(cache).map(([name, tensor]) => [name, gatherRows(tensor, parents)]),
  )
}

/** The logits of the last token of each row, from logits [rows, tokens, vocabulary]. */
function lastRows(answers: Tensors, session: GraphSession, rowCount: number): Float32Array[] {
  const tensor = must(answers[outputName(session)], 'logits')
  const [rows = 0, tokens = 0, size = 0] = tensor.dims
  const values = floatsOf(tensor)
  if (tensor.dims.length !== 3 || rows !== rowCount || tokens === 0 || size === 0) {
    const message = `the decoder answered logits of [${tensor.dims.join(', ')}]`
    throw new ServiceError('INFERENCE_FAILED', message)
  }
  return Array.from({ length: rows }, (_, row) => {
    const end = (row + 1) * tokens * size
    return values.slice(end - size, end)
  })
}
