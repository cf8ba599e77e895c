import { expect } from 'chai'

/** The error a call ends with, thrown or rejected. Fails when there is none. */
export async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  return expect.fail('expected an error')
}
