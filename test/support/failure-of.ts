/** Why a promise was rejected; undefined when it was not. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([work])
  return result.status === 'rejected' ? result.reason : undefined
}
