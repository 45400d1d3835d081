#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the links between the tree's Markdown pages, each file exists and each anchor is a heading of its page, and the unit tests that
docs/tcp.md names as "SUITE: SENTENCE; SENTENCE" in the last column of a table: each is a test of the suite."""

import pathlib
import re
import subprocess
import sys


def slug(heading):
    """Return the anchor that GitHub gives a heading."""
    text = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading).replace('`', '').strip().lower()
    return re.sub(r'[^\w\- ]', '', text).replace(' ', '-')


def prose(path):
    """Yield the numbered lines of a page outside code blocks."""
    code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith('```'):
            code = not code
        elif not code:
            yield number, line


def anchors(path):
    """Return the anchors of a page; a repeated heading gets a number."""
    seen, names = {}, set()
    for _, line in prose(path):
        if match := re.match(r'#+ +(.*)', line):
            name = slug(match[1])
            count = seen.get(name, 0)
            seen[name] = count + 1
            names.add(f'{name}-{count}' if count else name)
    return names


def dead_links(page):
    """Yield "PAGE:LINE: reason" per link of the page that leads nowhere."""
    for number, line in prose(page):
        for target in re.findall(r'\]\(([^)\s]+)\)', re.sub(r'`[^`]*`', '', line)):
            if re.match(r'[a-z]+:', target):
                continue
            name, _, anchor = target.partition('#')
            path = page.parent / name if name else page
            if not path.exists():
                yield f'{page}:{number}: {target}: no such file'
            elif anchor and path.suffix == '.md' and anchor not in anchors(path):
                yield f'{page}:{number}: {target}: no such heading'


def sentences(suite):
    """Return the names of a suite's tests; none if there is no such suite."""
    path = pathlib.Path(f'tests/unit/test_{suite}.c')
    return re.findall(r'^TL_TEST\("(.*)"\)', path.read_text(), re.M) if path.exists() else []


def missing_tests(page):
    """Yield "PAGE:LINE: reason" per test named in a row of a table that its suite has not."""
    for number, line in prose(page):
        suite, names = '', []
        for part in line.rstrip(' |').split('| ')[-1].split('; ') if line.startswith('|') else []:
            if match := re.match(r'(\w+): ', part):
                suite, names = match[1], sentences(match[1])
            elif part.startswith(('func ', 'sim ')):
                names = []
            sentence = part.removeprefix(f'{suite}: ')
            if names and sentence != 'all' and not any(sentence in name for name in names):
                yield f'{page}:{number}: {suite}: no such test: {sentence}'


pages = subprocess.run(['git', 'ls-files', '*.md'], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
dead = [line for page in pages for line in dead_links(pathlib.Path(page))]
dead += missing_tests(pathlib.Path('docs/tcp.md'))
print(f'{"not ok" if dead else "ok"} - links: {len(pages)} pages, {len(dead)} links or tests that do not exist')
for line in dead:
    print(f'#   {line}')
sys.exit(bool(dead))
