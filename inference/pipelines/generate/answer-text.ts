import type { GenerateEvent } from './generate-request.ts'
import { StopFilter } from './stop-filter.ts'
import type { ToolCallSyntax } from './tool-call-format.ts'
import { ToolCallParser } from './tool-call-parser.ts'
import type { ParsedPart } from './tool-call-parser.ts'

export interface AnswerTextOptions {
  readonly decoder: { push(id: number): string; flush(): string }
  readonly stop: readonly string[]
  readonly toolCallSyntax: ToolCallSyntax | undefined
  readonly answerBeginning: string
  readonly emit: (event: GenerateEvent) => void
}

/** From token ids to events: decoded, cut at stop strings, searched for calls of tools. */
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

  /** A stop string has come; what follows is not looked at. */
  get isStopped(): boolean {
    return this.#stops.isStopped
  }

  push(id: number): void {
    this.#parse(this.#stops.push(this.#options.decoder.push(id)))
  }

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
