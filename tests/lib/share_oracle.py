#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""share_oracle.py CONFIG.json [CLASS...]: print, as a JSON object, the limits in bit/s that the first "share" of a configuration must give to its
classes, all of one shape without inner classes, when the named ones have more demand than the rate and the others none."""

import json
import sys
from fractions import Fraction

IDLE_PART = 16


def fill(amount, bounds):
    """Divide an amount by weight between bounds, which are (weight, least, most): find the level by bisection of its exact breakpoints."""
    levels = sorted({Fraction(edge, weight) for weight, least, most in bounds for edge in (least, most)})
    given = lambda level: sum(min(max(weight * level, least), most) for weight, least, most in bounds)
    below = max((level for level in levels if given(level) <= amount), default=Fraction(0))
    slope = sum(weight for weight, least, most in bounds if least <= weight * below < most)
    level = below + (Fraction(amount) - given(below)) / slope if slope and given(below) < amount else below
    return [min(max(weight * level, least), most) for weight, least, most in bounds]


def solve(members, capacity):
    """Weighted max-min by tiers, floors first."""
    least = [min(m["floor"], m["demand"]) for m in members]
    left, shares = capacity - sum(least), [Fraction(0)] * len(members)
    for tier in ("prod", "nonprod"):
        mine = [i for i, m in enumerate(members) if m["tier"] == tier]
        most = [min(members[i]["demand"], members[i]["ceil"]) for i in mine]
        floors = sum(least[i] for i in mine)
        amount = min(floors + left, sum(most))
        for i, share in zip(mine, fill(amount, [(members[i]["weight"], least[i], top) for i, top in zip(mine, most)])):
            shares[i] = share
        left -= amount - floors
    return shares


def main(path, *active):
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    share, shape = config["share"][0], config["shape"][0]
    classes = {f"{shape['name']}/{cls['name']}": cls for cls in shape["classes"]}
    members = []
    for m in share["classes"]:
        cls = classes[m["class"]]
        members.append({"name": cls["name"], "weight": m.get("weight", 1), "tier": m.get("tier", "prod"),
                        "floor": max(m.get("floor", 0), cls.get("rate", 0)), "ceil": cls.get("ceil", cls.get("rate") or shape["rate"]),
                        "demand": 10**12 if cls["name"] in active else 0})
    rate, weights = share["rate"], sum(m["weight"] for m in members)
    limits = fill(rate, [(m["weight"], got, m["ceil"]) for m, got in zip(members, solve(members, rate))])
    print(json.dumps({m["name"]: max(round(limit), rate // IDLE_PART * m["weight"] // weights, m["floor"])
                      for m, limit in zip(members, limits)}))


main(*sys.argv[1:])
