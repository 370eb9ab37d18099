// The gate: every model request of this session asks before it goes, tells what it used, and is sent
// again when the API refused it. It decides nothing itself: the plugin's MCP server does (its broker,
// mcp_server/paceline_mcp/broker/gate.py, is the other half of this conversation). Without a reachable
// server it does nothing at all.
//
// Facts it stands on (measured on client 2.1.332):
// - after a terminal failure `next(e)` settles with usage null and stopReason null and nothing but chunks of
//   kind "engine"; calling it again sends the same request again, and the agent lives on
// - why a request failed is told by a row that the client then appends to the conversation: `session.append` with a
//   message of the model "<synthetic>", also where no transcript is kept (`--no-session-persistence`)
// - how often it retries by itself a client reads as a request starts: within 20 ms, with 12 agents on a busy machine
// - a call under way when the server dies is answered with an error; the next call starts the server again (1 s)
// - an hook event's `session_id` is told by `classic.SessionStart` only; it changes with /clear, the server does not
// - `$` must not be handed to a function, and names of variables must be literals: else it does not load
export function register(on) {
  const SERVER = 'plugin:paceline:paceline'
  const DEFAULT_RETRIES = '10' // the client's own default, put back where nothing was set before
  const TICK_MS = 15000 // an answer takes 20 s at most (SLICE_S); a server that has none in three of these hangs,
  const DEAF_MS = 120000 // and is not asked for so long
  const READ_MS = 50 // from a request's start until it surely has read its retry limit
  let reached = false // whether the server ever answered
  let waited = false // whether an agent already waited in vain for the server to come up, or back
  let limits = null // the retry limit of this session: of paced requests, and its own
  let free = 0 // starting requests, and compactions under way, that have the session's own
  let starts = 0 // of requests without retries
  let serial = 0
  let session = '' // which one this is: after /clear or /resume the server's environment still names the last one
  let tick = null // one clock for all that wait for an answer
  let deafUntil = 0
  // Also a reply that broke off; one with a whole tool call in it counts, and the client goes on from it.
  const nothing = result => result && !result.usage && !result.stopReason && !(result.toolUses || []).length
  // A request's steps, of which the first is asked for at once: that starts it.
  const begun = steps => {
    let first = steps.next()
    return {
      next() {
        const step = first || steps.next()
        first = null
        return step
      },
      return(value) { return steps.return(value) },
      [Symbol.asyncIterator]() { return this },
    }
  }
  const said = new Map() // by agent, what the client itself wrote last instead of an answer

  on('classic.SessionStart', async ($, e, next) => {
    session = String(e.session_id || '')
    return next(e)
  })

  on('session.append', async ($, e, next) => {
    if (e.origin && e.origin.kind === 'model' && e.origin.model === '<synthetic>') {
      const block = ((e.message && e.message.content) || []).find(one => one && typeof one.text === 'string')
      said.set(e.agentId || '', block ? block.text.slice(0, 2000) : '')
    }
    return next(e)
  })

  on('turn.step', async function* ($, e, next) {
    const agent = e.agentId || ''
    let lost = false // whether the server was gone when a failure was to be told
    let own = false // whether the next attempt is left to the client's own retries
    // Ask or tell the server something. Null when it cannot use it, or hangs; throws when it is not there.
    const tell = async asked => {
      if (Date.now() < deafUntil) return null
      const answering = $.mcp.call(SERVER, 'gate', asked)
      answering.catch(() => {})
      for (let ticks = 0; ticks < 3; ticks++) {
        if (!tick) tick = $.clock.sleep(TICK_MS).then(() => { tick = null })
        const answer = await Promise.race([answering, tick])
        if (answer) return answer.isError ? null : JSON.parse(answer.content[0].text)
      }
      deafUntil = Date.now() + DEAF_MS
      return null
    }
    // Start this request: paced, it has no retries of its own. They are none for that moment only, since what else
    // asks the model (WebFetch, a person's hooks, a title) does not pass here, and nobody else would try it again.
    const start = async paced => {
      if (!limits) return begun(next(e))
      const none = paced && !free
      const nth = none ? ++starts : 0
      if (!none) free++
      try {
        await $.env.set('CLAUDE_CODE_MAX_RETRIES', none ? limits.paced : limits.own)
      } catch { /* a client that cannot: they are its own */ }
      const steps = begun(next(e))
      $.clock.sleep(READ_MS).catch(() => {}).then(async () => {
        if (!none) free--
        if (nth === starts) await $.env.set('CLAUDE_CODE_MAX_RETRIES', limits.own)
      }).catch(() => {})
      return steps
    }
    for (let attempt = 0; ; attempt++) {
      const call = 'c' + (++serial) + '-' + String(e.turnId).slice(0, 8) + '-' + e.index
      let pass = null
      for (let tries = 0; ; ) {
        try {
          pass = await tell({
            op: 'ask', call, session, turn: String(e.turnId), agent, model: String(e.model || ''), index: e.index || 0,
            attempt,
          })
        } catch {
          pass = null
        }
        if (pass) {
          reached = true
          waited = false
        } else if (!waited && Date.now() >= deafUntil && !(next.signal && next.signal.aborted)) {
          // A server that is still starting, or was killed: an agent waits for it, not for long and not a second
          // time in vain. The main thread only asks again, where one was there.
          if (agent && ++tries <= 6) {
            await $.clock.sleep(500)
            continue
          }
          if (!agent && reached && ++tries <= 1) continue
          if (agent) waited = true
        }
        if (pass && 'note' in pass) $.ui.status(pass.note || undefined)
        if (pass && pass.set && !limits) {
          limits = { paced: pass.set.CLAUDE_CODE_MAX_RETRIES, own: DEFAULT_RETRIES }
          try {
            limits.own = (await $.env.get('CLAUDE_CODE_MAX_RETRIES')) || DEFAULT_RETRIES
            await $.env.set('CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS', pass.set.CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS)
          } catch { /* a client that cannot: its stall limit stays */ }
        }
        if (!pass || !pass.wait || (next.signal && next.signal.aborted)) break
      }
      if (pass && pass.wait) return yield* next(e) // the person interrupted while it waited
      // Not reachable, or without a ledger, or nothing to wait for: the session is as it would be without us.
      if (!pass || !pass.id) return yield* await start(false)
      if (pass.own) own = true

      said.delete(agent)
      const sent = Date.now() / 1000
      const steps = await start(!own)
      const kept = [] // a failed attempt's chunks are not shown when it is sent again
      let began = false
      let result = null
      try {
        for (;;) {
          const step = await steps.next()
          if (step.done) { result = step.value; break }
          if (!began) {
            if (step.value && step.value.kind === 'engine') { kept.push(step.value); continue }
            began = true
            if (pass.tell) {
              try { await tell({ op: 'began', id: pass.id }) } catch { /* followers time out */ }
            }
            while (kept.length) yield kept.shift()
          }
          yield step.value
        }
      } catch (error) {
        try { await tell({ op: 'done', id: pass.id }) } catch { /* its lease expires */ }
        throw error
      }
      if (!nothing(result) || (next.signal && next.signal.aborted)) {
        const usage = (result && result.usage) || null
        try {
          await tell({ op: 'done', id: pass.id, agent, usage, model: String(e.model || '') })
        } catch { /* its lease expires */ }
        while (kept.length) yield kept.shift()
        return result
      }
      while (kept.length) yield kept.shift() // only now does the client write why it failed
      for (let tries = 0; !said.has(agent) && tries < 10; tries++) await $.clock.sleep(20)
      let again = null
      try {
        again = await tell({
          op: 'refused', id: pass.id, agent, model: String(e.model || ''), attempt, sent, said: said.get(agent) || '',
        })
      } catch {
        again = null
      }
      own = !!(again && again.own)
      if (again && again.again) continue
      if (!again && limits && !lost) {
        lost = true // one more time: with the client's own retries, unless the server is there again
        continue
      }
      return result
    }
  })
  // A compaction's own request does not pass here: it keeps the person's retries.
  on('session.compact', async ($, e, next) => {
    if (!limits) return next(e)
    free++
    try { await $.env.set('CLAUDE_CODE_MAX_RETRIES', limits.own) } catch { /* as it is */ }
    try {
      return await next(e)
    } finally {
      free--
    }
  })
}
