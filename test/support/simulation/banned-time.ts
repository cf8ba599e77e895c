// The real clocks and timers of this process, which a simulation must not touch.

/** Runs `work` while every real clock and timer throws. Answers which ones were touched. */
export async function withoutRealTime(work: () => Promise<void>): Promise<readonly string[]> {
  const touched: string[] = []
  const banned: readonly (readonly [object, string])[] = [
    [globalThis, 'setTimeout'],
    [globalThis, 'setInterval'],
    [Date, 'now'],
    [performance, 'now'],
    [process, 'hrtime'],
    [Math, 'random'],
    [AbortSignal, 'timeout'],
  ]
  const restore = banned.map(([owner, name]) => {
    const own = Object.getOwnPropertyDescriptor(owner, name)
    Object.defineProperty(owner, name, {
      configurable: true,
      writable: true,
      value: () => {
        touched.push(name)
        throw new Error(`a simulation used ${name}`)
      },
    })
    return () => {
      if (own === undefined) Reflect.deleteProperty(owner, name)
      else Object.defineProperty(owner, name, own)
    }
  })
  try {
    await work()
  } finally {
    for (const back of restore) back()
  }
  return touched
}
