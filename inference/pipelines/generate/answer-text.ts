import type { GenerateEvent } from './generate-request.ts'
import { StopFilter } from './stop-filter.ts'
import type { ToolCallSyntax } from './tool-call-format.ts'
import { ToolCallParser } from './tool-call-parser.ts'
import type { ParsedPart } from './tool-call-parser.ts'

/**
 * The parts of one answer: `answerBeginning` is text that the prompt put into the model's mouth and
 * that belongs to the answer; `emit` receives the events in order.
 */
export interface AnswerTextOptions {
  readonly decoder: { push(id: number): string; flush(): string }
  readonly stop: readonly string[]
  readonly toolCallSyntax: ToolCallSyntax | undefined
  readonly answerBeginning: string
  readonly emit: (event: GenerateEvent) => void
}

/**
 * Turns token ids into events: it decodes them, cuts the text at stop strings, and finds tool
 * calls.
 */
export class AnswerText {
  readonly #options: AnswerTextOptions
  readonly #stops: StopFilter
  readonly #parser: ToolCallParser | undefined
  #callCount = 0

  constructor(options: AnswerTextOptions) {
    this.#options = options
    this.#stops = new StopFilter(options.stop)
    const { toolCallSyntax } = options
    this.#parser = toolCallSyntax === undefined ? undefined : new ToolCallParser(toolCallSyntax)
    this.#parse(options.answerBeginning)
  }

  /** Whether a stop string has come. Later text is ignored. */
  get isStopped(): boolean {
    return this.#stops.isStopped
  }

  push(id: number): void {
    this.#parse(this.#stops.push(this.#options.decoder.push(id)))
  }

  /** Emits the text that was held back. Called once, after the last token. */
  end(): { hasCalls: boolean } {
    this.#parse(this.#stops.push(this.#options.decoder.flush()))
    this.#parse(this.#stops.end())
    this.#emitAll(this.#parser?.end() ?? [])
    return { hasCalls: this.#callCount > 0 }
  }

  #parse(text: string): void {
    if (text === '') return
    this.#emitAll(this.#parser?.push(text) ?? [{ kind: 'text', text }])
  }

  #emitAll(parts: readonly ParsedPart[]): void {
    for (const part of parts) {
      if (part.kind === 'text') this.#options.emit(part)
      else {
        this.#options.emit({ kind: 'tool-call', index: this.#callCount, call: part.call })
        this.#callCount += 1
      }
    }
  }
}
