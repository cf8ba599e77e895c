// Shows one step of the demo: its request as a curl line, and its answer in a readable form.

import { ServiceRefusal } from '../service/api-client.ts'
import type { ApiAnswer, ApiClient } from '../service/api-client.ts'
import { prettyJson } from '../render/json-text.ts'
import { printable } from '../../lib/process/log-words.ts'
import { cutText, wrap } from '../render/text-width.ts'
import { paint, writeLine } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'

const ANSWER_LINES_MAX = 16
const INDENT = '  '

/** The request of a step; `path` is below /api/v1. */
export interface DemoRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
}

/** One step of the demo. */
export interface DemoStep extends DemoRequest {
  readonly title: string
  /** One or two sentences that say what the step shows. */
  readonly text: string
  /** The status that the step must have. Any other status ends the demo with an error. */
  readonly expectedStatus: number
  /** The lines that show the answer. Absent: the answer as JSON. */
  readonly view?: (text: string, screen: Output) => readonly string[]
}

/** The client that sends the steps, and the screen that shows them. */
export interface DemoStage {
  readonly client: ApiClient
  readonly screen: Output
}

/** Runs and shows a step. It returns the answer for later steps that need it. */
export async function showStep(step: DemoStep, { client, screen }: DemoStage): Promise<ApiAnswer> {
  await writeLine(screen)
  await writeLine(screen, `${paint(screen, 'cyan', '▸')} ${paint(screen, 'bold', step.title)}`)
  for (const line of wrap(step.text, screen.columns - INDENT.length)) {
    await writeLine(screen, INDENT + line)
  }
  await writeLine(screen)
  for (const line of curlLines(step, client.url, screen)) {
    await writeLine(screen, paint(screen, 'dim', INDENT + line))
  }
  const answer = await send(step, client)
  const version = answer.version === undefined ? '' : `  X-Service-Version: ${answer.version}`
  await writeLine(screen, `${INDENT}${paint(screen, 'green', String(answer.status))}${version}`)
  const lines = step.view?.(answer.text, screen) ?? answerLines(answer.text, screen)
  for (const line of lines) await writeLine(screen, INDENT + line)
  return answer
}

async function send(step: DemoStep, client: ApiClient): Promise<ApiAnswer> {
  const { method, path, body } = step
  try {
    return await client.request({
      method,
      path,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  } catch (error) {
    if (!(error instanceof ServiceRefusal) || error.status !== step.expectedStatus) throw error
    return { status: error.status, text: error.body, version: undefined }
  }
}

/** The request as a curl command. A body gets its own lines. */
export function curlLines(
  { method, path, body }: DemoRequest,
  url: string,
  { columns }: { readonly columns: number },
): string[] {
  const address = `${url}/api/v1${path}`
  const quoted = /[?&'*]/.test(address) ? `'${address}'` : address
  if (body === undefined) return [`curl ${method === 'GET' ? '' : `-X ${method} `}${quoted}`]
  // The body needs no escaping in single quotes, because no text of the demo contains one.
  const data = prettyJson(JSON.stringify(body), {
    columns: columns - 2 * INDENT.length,
    color: false,
  })
  const lines = `-d '${data}'`.split('\n').map((line) => INDENT + line)
  return [`curl ${quoted} \\`, `${INDENT}-H 'content-type: application/json' \\`, ...lines]
}

function answerLines(text: string, screen: Output): string[] {
  const width = screen.columns - INDENT.length
  const values = text.trimEnd().split('\n')
  // Several values are the lines of a scan, one for each document. A single value is indented.
  if (values.length > 1) return values.map((line) => cutText(printable(line), width))
  const lines = prettyJson(text, { columns: width, color: screen.color }).split('\n')
  const shown = lines.slice(0, ANSWER_LINES_MAX)
  const more = lines.length - shown.length
  return more > 0 ? [...shown, paint(screen, 'dim', `… ${more} more lines`)] : shown
}
