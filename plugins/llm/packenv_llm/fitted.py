"""Two services as mixtures, fitted to the Azure LLM inference traces of 2023 (CC-BY 4.0; Patel et al., Splitwise, ISCA 2024).

Requests fall into classes by their outputs. Each class has quantiles of its prompts and of its outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from packenv_llm.requests import Requests, Service

CONVERSATION_CUTS, CODE_CUTS = (75, 150, 300, 405, 450), (10, 20, 60, 150)
"""Ends of the classes of outputs, in tokens."""

SHARES = (0.0, 0.05, 0.15, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 0.93, 0.97, 0.99, 0.995, 0.999, 1.0)
"""Of a class that is below each of its quantiles."""


def fit_services(requests: Requests, cuts: Sequence[int]) -> tuple[Service, ...]:
    """Return a service for each class of outputs: (…, cuts[0]], (cuts[0], cuts[1]], …, (cuts[-1], …)."""
    kind = np.searchsorted(cuts, requests.output)
    services = []
    for k in range(len(cuts) + 1):
        part = [np.quantile(column[kind == k], SHARES).round() for column in (requests.prompt, requests.output)]
        prompts, outputs = (tuple(int(value) for value in column) for column in part)
        services.append(Service(round(float((kind == k).mean()), 4), prompts, outputs, SHARES))
    return tuple(services)


CONVERSATION = (
    Service(
        0.191,
        (11, 185, 321, 384, 814, 1404, 2308, 4074, 4085, 4096, 4128, 4831, 5343, 6558, 14050),
        (7, 16, 31, 44, 49, 53, 58, 63, 69, 73, 74, 75, 75, 75, 75),
        SHARES,
    ),
    Service(
        0.3589,
        (2, 181, 379, 396, 401, 407, 420, 836, 1895, 2796, 4086, 4446, 5165, 6358, 7650),
        (76, 79, 84, 90, 94, 99, 104, 111, 128, 138, 145, 148, 150, 150, 150),
        SHARES,
    ),
    Service(
        0.1155,
        (8, 52, 181, 200, 203, 209, 391, 1312, 1317, 2221, 3863, 4092, 4144, 5633, 7096),
        (151, 153, 160, 166, 174, 181, 189, 202, 217, 226, 251, 274, 288, 300, 300),
        SHARES,
    ),
    Service(
        0.1592,
        (181, 968, 1004, 1032, 1048, 1067, 1087, 1106, 1148, 1196, 1245, 1311, 1416, 4082, 4094),
        (309, 373, 378, 388, 393, 394, 396, 397, 400, 403, 404, 405, 405, 405, 405),
        SHARES,
    ),
    Service(
        0.1246,
        (181, 974, 1008, 1037, 1054, 1069, 1087, 1107, 1147, 1190, 1236, 1302, 1337, 1416, 1473),
        (406, 407, 411, 414, 415, 419, 424, 428, 434, 442, 446, 449, 450, 450, 450),
        SHARES,
    ),
    Service(
        0.0508,
        (181, 974, 1010, 1041, 1060, 1076, 1093, 1112, 1159, 1200, 1288, 1521, 4080, 4111, 4157),
        (451, 454, 463, 488, 507, 521, 538, 569, 616, 664, 938, 1000, 1000, 1000, 1000),
        SHARES,
    ),
)
CODE = (
    Service(
        0.3649,
        (4, 77, 269, 855, 1137, 1544, 1978, 2437, 3762, 6055, 7435, 7436, 7436, 7437, 7437),
        (6, 6, 6, 7, 7, 8, 9, 9, 10, 10, 10, 10, 10, 10, 10),
        SHARES,
    ),
    Service(
        0.3443,
        (3, 73, 182, 692, 1032, 1374, 1901, 2429, 4016, 6409, 7435, 7436, 7436, 7437, 7437),
        (11, 11, 12, 12, 13, 14, 15, 16, 18, 19, 20, 20, 20, 20, 20),
        SHARES,
    ),
    Service(
        0.2027,
        (7, 73, 261, 757, 1077, 1464, 1850, 2422, 4056, 6278, 7435, 7436, 7436, 7437, 7437),
        (21, 21, 23, 26, 28, 31, 34, 40, 49, 55, 58, 59, 60, 60, 60),
        SHARES,
    ),
    Service(
        0.0645,
        (9, 93, 250, 753, 1022, 1487, 1911, 2473, 4346, 6610, 7435, 7436, 7436, 7436, 7436),
        (61, 62, 66, 73, 77, 84, 91, 101, 121, 130, 142, 148, 149, 150, 150),
        SHARES,
    ),
    Service(
        0.0236,
        (15, 114, 333, 710, 1046, 1477, 1908, 2410, 3550, 4885, 6513, 7388, 7435, 7436, 7436),
        (151, 155, 172, 193, 206, 226, 256, 295, 432, 749, 847, 939, 1264, 1770, 1899),
        SHARES,
    ),
)
