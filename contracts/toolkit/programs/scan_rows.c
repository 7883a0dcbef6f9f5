/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "scan_rows.h"

const reduction_row_t scan_rows[] = {
    [SCAN_SUM_INTEGERS] = {LOAD("INT64") "result 0 v0\n",
                           TWO("INT64") "v2 = ADD INT64 v0 v1\nresult 0 v2\n",
                           ONE("INT64") "result 0 v0\n",
                           {0},
                           TBK_REDUCTION_COMMUTATIVE,
                           JOB_ANY,
                           0,
                           {0}},
    [SCAN_SUM_REALS] = {LOAD("FLOAT32") "result 0 v0\n",
                        TWO("FLOAT32") "v2 = ADD FLOAT32 v0 v1\nresult 0 v2\n",
                        ONE("FLOAT32") "result 0 v0\n",
                        {0},
                        TBK_REDUCTION_COMMUTATIVE,
                        JOB_SMALL,
                        0,
                        {TBK_FLOAT32}},
    /* Numbers above 1, so that no sum is far less than its terms. */
    [SCAN_SUM_ORDINARY] =
        {"program 1\ninput 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\nv1 = ABS FLOAT32 v0\n"
         "v2 = CONSTANT FLOAT32 bits 0x3f800000\nv3 = ADD FLOAT32 v1 v2\nresult 0 v3\n",
         TWO("FLOAT32") "v2 = ADD FLOAT32 v0 v1\nresult 0 v2\n",
         ONE("FLOAT32") "result 0 v0\n",
         {0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ORDINARY,
         1e-3,
         {TBK_FLOAT32}},
    [SCAN_PRODUCT] =
        {LOAD("INT64") "v1 = CONSTANT INT64 bits 0x1\nv2 = OR INT64 v0 v1\nresult 0 v2\n",
         TWO("INT64") "v2 = MUL INT64 v0 v1\nresult 0 v2\n",
         ONE("INT64") "result 0 v0\n",
         {1},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {0}},
    /* The greatest so far, and the last place of it; NaN is greater, and stays. */
    [SCAN_MOST] =
        {"program 1\ninput 0 FLOAT32\nv0 = LOAD FLOAT32 slot 0\nv1 = LINEAR_INDEX INT64\n"
         "result 0 v0\nresult 1 v1\n",
         FOUR("FLOAT32", "INT64") "v4 = GE BOOL v2 v0\nv5 = ISNAN BOOL v2\n"
                                  "v6 = OR BOOL v4 v5\nv7 = CONSTANT INT64 bits 0x0\n"
                                  "v8 = GE BOOL v3 v7\nv9 = AND BOOL v6 v8\n"
                                  "v10 = SELECT FLOAT32 v9 v2 v0\n"
                                  "v11 = SELECT INT64 v9 v3 v1\nresult 0 v10\nresult 1 v11\n",
         "program 1\nparameter 0 FLOAT32\nparameter 1 INT64\nv0 = PARAMETER FLOAT32 slot 0\n"
         "v1 = PARAMETER INT64 slot 1\nresult 0 v0\nresult 1 v1\n",
         {0xff800000, UINT64_MAX},
         0,
         JOB_ANY,
         0,
         {TBK_FLOAT32}},
    /* Maps x -> a * x + b, one after the other: modulo 2^64 exact, and no two orders agree. */
    [SCAN_ORDERED] =
        {"program 1\ninput 0 INT64\ninput 1 INT64\nv0 = LOAD INT64 slot 0\n"
         "v1 = LOAD INT64 slot 1\nv2 = CONSTANT INT64 bits 0x1\nv3 = OR INT64 v0 v2\n"
         "result 0 v3\nresult 1 v1\n",
         FOUR("INT64", "INT64") "v4 = MUL INT64 v0 v2\nv5 = MUL INT64 v1 v2\n"
                                "v6 = ADD INT64 v5 v3\nresult 0 v4\nresult 1 v6\n",
         "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
         "v1 = PARAMETER INT64 slot 1\nresult 0 v0\nresult 1 v1\n",
         {1, 0},
         0,
         JOB_ANY,
         0,
         {0}},
    /* Take both of one input, so that its layout alone decides in which order memory has it. */
    [SCAN_ORDERED_ALONE] =
        {LOAD("INT64") "v1 = CONSTANT INT64 bits 0x1\nv2 = OR INT64 v0 v1\n"
                       "result 0 v2\nresult 1 v0\n",
         FOUR("INT64", "INT64") "v4 = MUL INT64 v0 v2\nv5 = MUL INT64 v1 v2\nv6 = ADD INT64 v5 v3\n"
                                "result 0 v4\nresult 1 v6\n",
         "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
         "v1 = PARAMETER INT64 slot 1\nresult 0 v0\nresult 1 v1\n",
         {1, 0},
         0,
         JOB_ANY,
         0,
         {0}},
    [SCAN_FOUR_STATES] =
        {"program 1\ninput 0 INT32\nv0 = LOAD INT32 slot 0\nv1 = CAST INT64 v0\n"
         "v2 = CONSTANT INT32 bits 0x0\nv3 = LT BOOL v0 v2\n"
         "result 0 v0\nresult 1 v0\nresult 2 v1\nresult 3 v3\n",
         "program 1\nparameter 0 INT32\nparameter 1 INT32\nparameter 2 INT64\n"
         "parameter 3 BOOL\nparameter 4 INT32\nparameter 5 INT32\nparameter 6 INT64\n"
         "parameter 7 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT32 slot 1\n"
         "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
         "v4 = PARAMETER INT32 slot 4\nv5 = PARAMETER INT32 slot 5\n"
         "v6 = PARAMETER INT64 slot 6\nv7 = PARAMETER BOOL slot 7\n"
         "v8 = MIN INT32 v0 v4\nv9 = MAX INT32 v1 v5\nv10 = ADD INT64 v2 v6\n"
         "v11 = XOR BOOL v3 v7\nresult 0 v8\nresult 1 v9\nresult 2 v10\nresult 3 v11\n",
         "program 1\nparameter 0 INT32\nparameter 1 INT32\nparameter 2 INT64\n"
         "parameter 3 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT32 slot 1\n"
         "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
         "result 0 v0\nresult 1 v1\nresult 2 v2\nresult 3 v3\n",
         {INT32_MAX, UINT64_C(0x80000000), 0, 0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {TBK_INT32}},
    /* Squares, summed in FLOAT32, which are soon more than FLOAT16 can count. */
    [SCAN_HALF] = {"program 1\ninput 0 FLOAT16\nv0 = LOAD FLOAT16 slot 0\nv1 = CAST FLOAT32 v0\n"
                   "v2 = MUL FLOAT32 v1 v1\nresult 0 v2\n",
                   TWO("FLOAT32") "v2 = ADD FLOAT32 v0 v1\nresult 0 v2\n",
                   ONE("FLOAT32") "v1 = CONSTANT FLOAT32 bits 0x3f801000\nv2 = MUL FLOAT32 v0 v1\n"
                                  "v3 = CAST FLOAT16 v2\nresult 0 v3\n",
                   {0},
                   TBK_REDUCTION_COMMUTATIVE,
                   JOB_SMALL,
                   0,
                   {TBK_FLOAT16, TBK_FLOAT32}},
    [SCAN_EVEN] = {LOAD("BOOL") "result 0 v0\n",
                   TWO("BOOL") "v2 = XOR BOOL v0 v1\nresult 0 v2\n",
                   ONE("BOOL") "v1 = NOT BOOL v0\nresult 0 v1\n",
                   {0},
                   TBK_REDUCTION_COMMUTATIVE,
                   JOB_ANY,
                   0,
                   {0}},
    /* Coordinates, and the index along the last dimension, in the map. */
    [SCAN_PLACED] =
        {"program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = LINEAR_INDEX INT64\n"
         "v2 = COORDINATE INT64 slot 0\nv3 = CONSTANT INT64 bits 0x3e9\nv4 = MUL INT64 v2 v3\n"
         "v5 = XOR INT64 v0 v1\nv6 = ADD INT64 v5 v4\nv7 = MUL INT64 v6 v3\nresult 0 v7\n",
         TWO("INT64") "v2 = ADD INT64 v0 v1\nresult 0 v2\n",
         ONE("INT64") "v1 = COORDINATE INT64 slot 0\nv2 = XOR INT64 v0 v1\nresult 0 v2\n",
         {0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {0}},
    /* An aligned input of the same space, one by index, and the place. */
    [SCAN_FINISHED] =
        {LOAD("INT64") "result 0 v0\n",
         TWO("INT64") "v2 = ADD INT64 v0 v1\nresult 0 v2\n",
         "program 1\ninput 0 INT64\ninput 1 INT64 indexed 1\nparameter 0 INT64\n"
         "v0 = PARAMETER INT64 slot 0\nv1 = LOAD INT64 slot 0\nv2 = LINEAR_INDEX INT64\n"
         "v3 = LOAD INT64 slot 1 zero v2\nv4 = XOR INT64 v0 v1\nv5 = ADD INT64 v4 v3\n"
         "result 0 v5\nresult 1 v2\n",
         {0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {0}},
    [SCAN_NUMBERED] =
        {"program 1\ninput 0 INT64\nnumber 0 INT64\nv0 = LOAD INT64 slot 0\n"
         "v1 = NUMBER INT64 slot 0\nv2 = MUL INT64 v0 v1\nresult 0 v2\n",
         "program 1\nnumber 0 INT64\nparameter 0 INT64\nparameter 1 INT64\n"
         "v0 = PARAMETER INT64 slot 0\nv1 = PARAMETER INT64 slot 1\nv2 = ADD INT64 v0 v1\n"
         "result 0 v2\n",
         "program 1\nnumber 0 INT64\nparameter 0 INT64\nv0 = PARAMETER INT64 slot 0\n"
         "v1 = NUMBER INT64 slot 0\nv2 = SUB INT64 v0 v1\nresult 0 v2\n",
         {0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {0}},
};
