// Makes a realm that has nothing but arithmetic, texts and lists, and in which nothing can be left behind.
//
// keep: names of globals that stay; draw: what Math.random becomes.
(function lockdown(keep, draw) {
  "use strict";
  const global = globalThis;
  const { ownKeys } = Reflect;
  const { freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const seen = new Set();
  const waiting = [];
  function visit(thing) {
    const kind = typeof thing;
    if ((kind === "object" && thing !== null) || kind === "function") {
      if (!seen.has(thing)) {
        seen.add(thing);
        waiting.push(thing);
      }
    }
  }

  Math.random = draw;

  // Prototypes that no name leads to.
  function* numbers() {}
  const hidden = [
    numbers, numbers(), [].values(), "a".matchAll(/a/g), "a"[Symbol.iterator](),
    new Map().values(), new Set().values(), [].values().map((x) => x), Iterator.from({ next() {} }),
    (function () { return arguments; })(),
  ];
  hidden.forEach(visit);

  // Removed globals are frozen too: a prototype is reached from its values even without a name.
  for (const name of ownKeys(global)) {
    visit(global[name]);
    if (!keep.includes(name)) delete global[name];
  }
  visit(global);

  while (waiting.length > 0) {
    const thing = waiting.pop();
    visit(getPrototypeOf(thing));
    for (const key of ownKeys(thing)) {
      const property = getOwnPropertyDescriptor(thing, key);
      visit(property.value);
      visit(property.get);
      visit(property.set);
    }
    freeze(thing);
  }
})
