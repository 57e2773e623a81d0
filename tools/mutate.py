#!/usr/bin/env python3
"""Do the tests notice when the core is wrong?

    make mutate                       CircuitBreaker, GuardedCall and FaultTolerant
    make mutate ONLY=CircuitBreaker   one of them

Mutants are the contract with one expression or statement changed, and they are slither-mutate's. One with which all
tests pass has survived, if its code differs at all; red unless test/mutation/survivors.txt says why it may. target/mutate/ has the fate of each.

What is not slither-mutate's is the driver. It compiles and tests one mutant after the other, 5 s each with two idle
cores, and there are 1,328 of CircuitBreaker alone. Here many are compiled and tested at once, each with a copy of its
own of the tests, so that forge, the start of the compiler and forge-std are there once for all of them: 0.4 s each in
the first round. Mutants that are the same text are one. No optimizer, and a forge-std without its console (three
quarters of what there is to compile), change nothing of what a test says.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from slither import Slither
from slither.slithir.operations import Binary
from slither.tools.mutator.__main__ import _get_mutators

ROOT = Path(__file__).resolve().parent.parent
SURVIVORS = ROOT / "test/mutation/survivors.txt"
LOGS = ROOT / "target/mutate"

# For each contract the tests that concern it, in rounds: each is for what survived those before, and the last one runs
# all of them. The first are those that compile fastest and kill most.
ROUNDS = {
    "CircuitBreaker": [
        "fuzz/Step",
        "fuzz/Recording unit/Build unit/Configure",
        "unit/Reading unit/Unconfigured",
        "fuzz/Streak invariant/Breakers unit/Backoff unit/Clock unit/Closed unit/HalfOpen unit/Latch unit/Layout"
        " unit/OncePerBlock unit/Open unit/Reset unit/Trip unit/Window",
    ],
    "GuardedCall": [
        "unit/Limits unit/Decode",
        "unit/GuardedCall",
        "fuzz/Decode fuzz/GuardedCall unit/FaultTolerantValue unit/Faults unit/GuardedCallGas unit/LowGas",
    ],
    "FaultTolerant": [
        "unit/FaultTolerant unit/FaultTolerantReentrancy",
        "unit/FaultTolerantCaller unit/FaultTolerantValue unit/Modifiers",
        "fuzz/FaultTolerant unit/Faults unit/LowGas unit/PolicyHost unit/WhileOpen",
    ],
}
# How many copies of test files are compiled together: about what the compiler has room for in 32 bits.
TOGETHER = 48
# Runs of a fuzz test; each of ours takes some fifty steps. What is missed before the last round, that one tries again.
FEW_RUNS = "10"
MORE_RUNS = "64"
# A mutant may loop until its gas is gone, in each of thousands of calls.
SECONDS = 900

ENVIRONMENT = {
    **os.environ,
    "FOUNDRY_OPTIMIZER": "false",
    "FOUNDRY_AST": "false",
    "FOUNDRY_EXTRA_OUTPUT": "[]",
    "FOUNDRY_DENY": "never",
}


# Hosts that together use every function of the contract. A mutant that leaves their optimized code as it is differs
# only on paper.
HOSTS = {
    "CircuitBreaker": ["test/utils/BreakerHarness.sol", "test/symbolic/Recording.t.sol"],
    "GuardedCall": ["test/utils/GuardHarness.sol", "test/mocks/DecoratedHost.sol", "contracts/FaultTolerantProxy.sol"],
    "FaultTolerant": ["test/mocks/ModifiedHost.sol", "test/mocks/PolicyHost.sol"],
}

# Compiles sources with one text after another for one of them, and writes a list: the code of all contracts in `hosts`
# as one string, or false where the text does not compile. Without hosts it only looks whether it does. One process for
# all texts, as the compiler takes longer to start than to see that a mutant is no Solidity.
COMPILE = """
const { readFileSync } = require('fs');
const solc = require('solc');
const { file, sources, hosts, texts } = JSON.parse(readFileSync(0, 'utf8'));
const packages = { import: (name) => ({ contents: readFileSync(`node_modules/${name}`, 'utf8') }) };
const what = hosts.length > 0 ? 'evm.bytecode.object' : 'abi';
const settings = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 10000 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': [what] } },
};
const compile = (text) => {
  const all = Object.entries({ ...sources, [file]: text }).map(([name, content]) => [name, { content }]);
  const input = { language: 'Solidity', sources: Object.fromEntries(all), settings };
  const { errors = [], contracts } = JSON.parse(solc.compile(JSON.stringify(input), packages));
  if (errors.some(({ severity }) => severity === 'error')) return false;
  const code = ({ evm }) => evm.bytecode.object;
  return hosts.flatMap((host) => Object.values(contracts[host]).map(code)).join(' ');
};
console.log(JSON.stringify(texts.map(compile)));
"""


class Mutant:
    def __init__(self, place, kind, line, before, after, text):
        one_line = lambda code: " ".join(code.split())
        # Without the line, which changes with every edit above it.
        self.name = f"{place} [{kind}] {one_line(before)} ==> {one_line(after)}"
        self.line = line
        self.text = text


def mutants_of(contract, work):
    """All different mutants that compile, as slither-mutate makes them."""
    folder = work / "slither"
    shutil.copytree(ROOT / "contracts", folder / "contracts")
    shutil.copy(ROOT / "foundry.toml", folder)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    os.environ.update(ENVIRONMENT)
    os.chdir(folder)
    unit = Slither(f"contracts/{contract}.sol").compilation_units[0]
    instance = next(c for c in unit.contracts if c.name == contract)
    original = (folder / f"contracts/{contract}.sol").read_bytes()
    functions = {
        line: function.name
        for function in instance.functions_and_modifiers_declared
        # slither's own, for what stands outside of functions.
        if not function.name.startswith("slitherConstructor")
        for line in function.source_mapping.lines
    }
    found = {}
    for mutator in _get_mutators(None):
        # ROR splits a line at the operator that it replaces, and would stumble over assembly, where that is a function.
        without = lines_without_operator(instance) if mutator.NAME == "ROR" else []
        made = mutator(unit, 0, "", None, instance, None, False, folder, without)._mutate()
        for patches in made.get("patches", {}).values():
            for patch in patches:
                text = original[: patch["start"]] + patch["new_string"].encode() + original[patch["end"] :]
                line = patch["line_number"]
                if text != original and text not in found:
                    place = f"{contract}.{functions.get(line, 'constants')}"
                    found[text] = Mutant(place, mutator.NAME, line, patch["old_string"], patch["new_string"], text)
    os.chdir(ROOT)
    mutants = list(found.values())
    good = [mutant for mutant, code in zip(mutants, compiled(contract, mutants)) if code is not False]
    print(f"mutate: {contract}: {len(mutants)} mutants, {len(good)} of which compile", flush=True)
    return sorted(good, key=lambda mutant: mutant.line)


def lines_without_operator(instance):
    return [
        node.source_mapping.lines[0]
        for function in instance.functions_and_modifiers_declared
        for node in function.nodes
        for ir in node.irs
        if isinstance(ir, Binary) and ir.type.value not in node.source_mapping.content
    ]


def compiled(contract, mutants, hosts=()):
    """What COMPILE says of each mutant."""
    file = f"contracts/{contract}.sol"
    question = {
        "file": file,
        "sources": imported([file, *hosts]),
        "hosts": list(hosts),
        "texts": [mutant.text.decode() for mutant in mutants],
    }
    answer = subprocess.run(
        ["node", "-e", COMPILE], cwd=ROOT, input=json.dumps(question), capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


def imported(files):
    """The files and all that they import, but for packages."""
    seen = {}

    def follow(file):
        if file in seen:
            return
        seen[file] = text = (ROOT / file).read_text()
        for name in re.findall(r'^import [^"]*"([^"]+)";', text, re.MULTILINE):
            path = os.path.normpath(os.path.join(os.path.dirname(file), name) if name.startswith(".") else name)
            if (ROOT / path).exists():
                follow(path)

    for file in files:
        follow(file)
    return seen


def lay_out(folder, contract, sources, mutants):
    """A forge project with a copy of the sources for each mutant."""
    shutil.rmtree(folder, ignore_errors=True)
    for number, mutant in enumerate(mutants):
        for file, text in sources.items():
            # Each copy imports its own contracts.
            up = os.path.relpath(".", os.path.dirname(file))
            text = re.sub(r'(^import [^"]*)"(?=contracts/)', rf'\1"{up}/', text, flags=re.MULTILINE)
            path = folder / f"t/m{number}" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if file == f"contracts/{contract}.sol":
                path.write_bytes(mutant.text)
            else:
                path.write_text(text)
    config = (ROOT / "foundry.toml").read_text()
    config = re.sub(r'^src = .*', 'src = "t"\ntest = "t"\nscript = "t"', config, count=1, flags=re.MULTILINE)
    config = re.sub(r'"forge-std/=[^"]*"', '"forge-std/=forge-std/"', config)
    (folder / "foundry.toml").write_text(config)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    shutil.copytree(ROOT / "node_modules/@layerzerolabs/toolbox-foundry/lib/forge-std", folder / "forge-std")
    (folder / "forge-std/safeconsole.sol").write_text("library safeconsole {}\n")
    (folder / "forge-std/console.sol").write_text("library console {}\n")


def forge(folder, *arguments, **environment):
    try:
        done = subprocess.run(
            ["forge", *arguments],
            cwd=folder,
            env={**ENVIRONMENT, **environment},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return None, "", ""


def judge(folder, contract, sources, mutants, **environment):
    """What becomes of each mutant: 'killed', 'survived', or 'invalid' for one that does not compile."""
    fates = {}
    left = list(mutants)
    while left:
        lay_out(folder, contract, sources, left)
        code, out, err = forge(folder, "test", "--json", **environment)
        results = json.loads(out) if out.startswith("{") else None
        if results is not None:
            for number, mutant in enumerate(left):
                suites = [suite for path, suite in results.items() if path.startswith(f"t/m{number}/")]
                failed = any(
                    test["status"] == "Failure" for suite in suites for test in suite["test_results"].values()
                )
                if not suites:
                    raise SystemExit(f"mutate: no test ran for {mutant.name}")
                fates[mutant] = "killed" if failed else "survived"
            return fates
        if code is not None and "Compilation failed" not in out + err:
            raise SystemExit(f"mutate: forge failed:\n{out}{err}")
        broken = {int(number) for number in re.findall(r"--> t/m(\d+)/", errors_only(out + err))}
        if broken:
            for number in broken:
                fates[left[number]] = "invalid"
        elif len(left) == 1:
            if code is None:
                # It looped, where the contract as it is does not.
                fates[left[0]] = "killed"
            else:
                # The compiler itself gave up, as with too deep a stack.
                fates[left[0]] = "invalid"
        else:
            half = len(left) // 2
            for part in (left[:half], left[half:]):
                fates.update(judge(folder, contract, sources, part, **environment))
            return fates
        left = [mutant for mutant in left if mutant not in fates]
    return fates


def errors_only(text):
    """What the compiler says about errors, without the warnings."""
    return "\n".join(part for part in re.split(r"\n\s*\n", text) if re.match(r"\s*(Error|.*\nError)", part))


def play(contract, work, title, tests, mutants, log, **environment):
    """One round: which of the mutants survive these tests."""
    sources = imported([f"test/{test}.t.sol" for test in tests])
    together = max(1, TOGETHER // len(tests))
    alive = []
    for start in range(0, len(mutants), together):
        batch = mutants[start : start + together]
        fates = judge(work / "batch", contract, sources, batch, **environment)
        for mutant in batch:
            print(f"{title:8} {fates[mutant]:8} {mutant.line:4} {mutant.name}", file=log, flush=True)
        alive += [mutant for mutant in batch if fates[mutant] == "survived"]
        tried = start + len(batch)
        print(f"mutate: {contract}, {title}: {tried} of {len(mutants)} tried, {len(alive)} alive", flush=True)
    return alive


def explanations(contract):
    """The survivors that are explained: lines that begin with the contract; the indented ones after them say why."""
    lines = SURVIVORS.read_text().splitlines()
    return [" ".join(line.split()) for line in lines if line.startswith(f"{contract}.")]


def campaign(contract):
    begin = time.monotonic()
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, open(LOGS / f"{contract}.log", "w") as log:
        work = Path(name)
        rounds = [tests.split() for tests in ROUNDS[contract]]
        original = Mutant(contract, "none", 0, "", "", (ROOT / f"contracts/{contract}.sol").read_bytes())
        everything = sum(rounds, [])
        if not play(contract, work, "original", everything, [original], log):
            sys.exit(f"mutate: {contract}: the tests fail with the contract as it is")

        mutants = mutants_of(contract, work)
        alive = mutants
        for number, tests in enumerate(rounds[:-1], 1):
            alive = play(contract, work, f"round {number}", tests, alive, log, FOUNDRY_FUZZ_RUNS=FEW_RUNS)
        as_it_is, *codes = compiled(contract, [original, *alive], HOSTS[contract])
        if not as_it_is:
            sys.exit(f"mutate: the hosts of {contract} do not compile")
        alive = [mutant for mutant, code in zip(alive, codes) if code != as_it_is]
        alive = play(contract, work, "all", everything, alive, log, FOUNDRY_FUZZ_RUNS=MORE_RUNS)

    survived = {mutant.name: mutant for mutant in alive}
    explained = explanations(contract)
    news = [mutant for name, mutant in survived.items() if name not in explained]
    stale = [name for name in explained if name not in survived]
    for mutant in news:
        print(f"survived, not explained: line {mutant.line}: {mutant.name}")
    for name in stale:
        print(f"explained, but killed or gone: {name}")
    minutes = (time.monotonic() - begin) / 60
    print(
        f"mutate: {contract}: of {len(mutants)} mutants that compile {len(alive)} survived, {len(news)} of them not "
        f"explained; {minutes:.0f} minutes",
        flush=True,
    )
    return not news and not stale


def use_the_quick_compiler(folder):
    """Where the compiler is the wasm one, it runs for seconds here: too short to be worth optimizing itself."""
    if os.environ.get("FOUNDRY_SOLC") or not (ROOT / ".env").exists():
        return
    solc = folder / "solc"
    solc.write_text(f'#!/bin/sh\nexec node --liftoff-only "{ROOT}/tools/solc" "$@"\n')
    solc.chmod(0o755)
    ENVIRONMENT["FOUNDRY_SOLC"] = str(solc)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        # Once: slither is told by the environment, where the next campaign would take it for the user's choice.
        use_the_quick_compiler(Path(name))
        good = [campaign(contract) for contract in sys.argv[1:] or ROUNDS]
    sys.exit(0 if all(good) else "mutate: kill survivors with a test, or explain them in test/mutation/survivors.txt")
