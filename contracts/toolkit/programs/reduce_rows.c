/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "reduce_rows.h"

const reduction_row_t reduce_rows[] = {
    [REDUCE_SUM_INTEGERS] = {LOAD("INT64") "result 0 v0\n",
                             TWO("INT64") "v2 = ADD INT64 v0 v1\nresult 0 v2\n",
                             ONE("INT64") "result 0 v0\n",
                             {0},
                             TBK_REDUCTION_COMMUTATIVE,
                             JOB_ANY,
                             0,
                             {0}},
    [REDUCE_SUM_REALS] = {LOAD("FLOAT32") "result 0 v0\n",
                          TWO("FLOAT32") "v2 = ADD FLOAT32 v0 v1\nresult 0 v2\n",
                          ONE("FLOAT32") "result 0 v0\n",
                          {0},
                          TBK_REDUCTION_COMMUTATIVE,
                          JOB_SMALL,
                          0,
                          {TBK_FLOAT32}},
    /* NaN wins, infinities are kept; of zeros either. */
    [REDUCE_MOST] =
        {LOAD("FLOAT32") "result 0 v0\n",
         TWO("FLOAT32") "v2 = MAX FLOAT32 v0 v1\nresult 0 v2\n",
         ONE("FLOAT32") "v1 = CONSTANT FLOAT32 bits 0x0\nv2 = ADD FLOAT32 v0 v1\nresult 0 v2\n",
         {0xff800000},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {TBK_FLOAT32}},
    /* The first of those that are greatest. */
    [REDUCE_ARGUMENT] =
        {"program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = LINEAR_INDEX INT64\n"
         "result 0 v0\nresult 1 v1\n",
         FOUR("INT64", "INT64") "v4 = GT BOOL v2 v0\nv5 = EQ BOOL v2 v0\nv6 = LT BOOL v3 "
                                "v1\nv7 = AND BOOL v5 v6\n"
                                "v8 = OR BOOL v4 v7\nv9 = SELECT INT64 v8 v2 v0\nv10 = "
                                "SELECT INT64 v8 v3 v1\n"
                                "result 0 v9\nresult 1 v10\n",
         "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
         "v1 = PARAMETER INT64 slot 1\nresult 0 v1\nresult 1 v0\n",
         {UINT64_C(1) << 63, INT64_MAX},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_SMALL,
         0,
         {0}},
    [REDUCE_ANY] = {LOAD("BOOL") "result 0 v0\n",
                    TWO("BOOL") "v2 = XOR BOOL v0 v1\nresult 0 v2\n",
                    ONE("BOOL") "result 0 v0\n",
                    {0},
                    TBK_REDUCTION_COMMUTATIVE,
                    JOB_ANY,
                    0,
                    {0}},
    /* Maps x -> a * x + b, one after the other: modulo 2^64 exact, and no two orders agree. */
    [REDUCE_ORDERED] =
        {"program 1\ninput 0 INT64\ninput 1 INT64\nv0 = LOAD INT64 slot 0\n"
         "v1 = LOAD INT64 slot 1\nv2 = CONSTANT INT64 bits 0x1\nv3 = OR INT64 v0 v2\n"
         "result 0 v3\nresult 1 v1\n",
         FOUR("INT64", "INT64") "v4 = MUL INT64 v0 v2\nv5 = MUL INT64 v1 v2\nv6 = ADD INT64 v5 v3\n"
                                "result 0 v4\nresult 1 v6\n",
         "program 1\nparameter 0 INT64\nparameter 1 INT64\nv0 = PARAMETER INT64 slot 0\n"
         "v1 = PARAMETER INT64 slot 1\nresult 0 v0\nresult 1 v1\n",
         {1, 0},
         0,
         JOB_ANY,
         0,
         {0}},
    /* Take both of one input, so that its layout alone decides in which order memory has it. */
    [REDUCE_ORDERED_ALONE] =
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
    /* The last element that is there: the flag says whether there was any. */
    [REDUCE_LAST] =
        {"program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = CONSTANT BOOL bits 0x1\n"
         "result 0 v0\nresult 1 v1\n",
         FOUR("INT64",
              "BOOL") "v4 = SELECT INT64 v3 v2 v0\nv5 = OR BOOL v1 v3\nresult 0 v4\nresult 1 v5\n",
         "program 1\nparameter 0 INT64\nparameter 1 BOOL\nv0 = PARAMETER INT64 slot 0\n"
         "v1 = PARAMETER BOOL slot 1\nresult 0 v0\nresult 1 v1\n",
         {77, 0},
         0,
         JOB_ANY,
         0,
         {0}},
    /* Count, mean and sum of squared differences, as they are merged from parts. */
    [REDUCE_MOMENTS] =
        {"program 1\ninput 0 FLOAT32\nv0 = CONSTANT FLOAT32 bits 0x3f800000\n"
         "v1 = LOAD FLOAT32 slot 0\nv2 = CONSTANT FLOAT32 bits 0x0\n"
         "result 0 v0\nresult 1 v1\nresult 2 v2\n",
         "program 1\nparameter 0 FLOAT32\nparameter 1 FLOAT32\nparameter 2 FLOAT32\n"
         "parameter 3 FLOAT32\nparameter 4 FLOAT32\nparameter 5 FLOAT32\n"
         "v0 = PARAMETER FLOAT32 slot 0\nv1 = PARAMETER FLOAT32 slot 1\n"
         "v2 = PARAMETER FLOAT32 slot 2\nv3 = PARAMETER FLOAT32 slot 3\n"
         "v4 = PARAMETER FLOAT32 slot 4\nv5 = PARAMETER FLOAT32 slot 5\n"
         "v6 = ADD FLOAT32 v0 v3\nv7 = CONSTANT FLOAT32 bits 0x3f800000\n"
         "v8 = MAX FLOAT32 v6 v7\nv9 = DIV FLOAT32 v3 v8\nv10 = SUB FLOAT32 v4 v1\n"
         "v11 = MUL FLOAT32 v10 v9\nv12 = ADD FLOAT32 v1 v11\nv13 = MUL FLOAT32 v10 v10\n"
         "v14 = MUL FLOAT32 v0 v9\nv15 = MUL FLOAT32 v13 v14\nv16 = ADD FLOAT32 v2 v5\n"
         "v17 = ADD FLOAT32 v16 v15\nresult 0 v6\nresult 1 v12\nresult 2 v17\n",
         "program 1\nparameter 0 FLOAT32\nparameter 1 FLOAT32\nparameter 2 FLOAT32\n"
         "v0 = PARAMETER FLOAT32 slot 0\nv1 = PARAMETER FLOAT32 slot 2\nresult 0 v0\n"
         "result 1 v1\n",
         {0, 0, 0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ORDINARY,
         1e-3,
         {TBK_FLOAT32}},
    [REDUCE_FOUR_STATES] =
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
         "v11 = OR BOOL v3 v7\nresult 0 v8\nresult 1 v9\nresult 2 v10\nresult 3 v11\n",
         "program 1\nparameter 0 INT32\nparameter 1 INT32\nparameter 2 INT64\n"
         "parameter 3 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT32 slot 1\n"
         "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
         "result 0 v0\nresult 1 v1\nresult 2 v2\nresult 3 v3\n",
         {INT32_MAX, UINT64_C(0x80000000), 0, 0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {TBK_INT32}},
    /* States whose identities are all something else than 0. */
    [REDUCE_LIMITS] =
        {"program 1\ninput 0 INT32\nv0 = LOAD INT32 slot 0\nv1 = CAST INT64 v0\n"
         "v2 = CONSTANT INT32 bits 0x0\nv3 = LT BOOL v0 v2\n"
         "result 0 v0\nresult 1 v1\nresult 2 v1\nresult 3 v3\n",
         "program 1\nparameter 0 INT32\nparameter 1 INT64\nparameter 2 INT64\n"
         "parameter 3 BOOL\nparameter 4 INT32\nparameter 5 INT64\nparameter 6 INT64\n"
         "parameter 7 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT64 slot 1\n"
         "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
         "v4 = PARAMETER INT32 slot 4\nv5 = PARAMETER INT64 slot 5\n"
         "v6 = PARAMETER INT64 slot 6\nv7 = PARAMETER BOOL slot 7\n"
         "v8 = MAX INT32 v0 v4\nv9 = MUL INT64 v1 v5\nv10 = MIN INT64 v2 v6\n"
         "v11 = AND BOOL v3 v7\nresult 0 v8\nresult 1 v9\nresult 2 v10\nresult 3 v11\n",
         "program 1\nparameter 0 INT32\nparameter 1 INT64\nparameter 2 INT64\n"
         "parameter 3 BOOL\nv0 = PARAMETER INT32 slot 0\nv1 = PARAMETER INT64 slot 1\n"
         "v2 = PARAMETER INT64 slot 2\nv3 = PARAMETER BOOL slot 3\n"
         "result 0 v0\nresult 1 v1\nresult 2 v2\nresult 3 v3\n",
         {UINT64_C(0x80000000), 1, INT64_MAX, 1},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {TBK_INT32}},
    /* Coordinates of the whole space, the index of the inner one. */
    [REDUCE_PLACED] =
        {"program 1\ninput 0 INT64\nv0 = LOAD INT64 slot 0\nv1 = LINEAR_INDEX INT64\n"
         "v2 = COORDINATE INT64 slot 0\nv3 = CONSTANT INT64 bits 0x3e9\nv4 = MUL INT64 v2 v3\n"
         "v5 = XOR INT64 v0 v1\nv6 = MUL INT64 v5 v4\nv7 = ADD INT64 v6 v1\nresult 0 v7\n",
         TWO("INT64") "v2 = ADD INT64 v0 v1\nresult 0 v2\n",
         ONE("INT64") "result 0 v0\n",
         {0},
         TBK_REDUCTION_COMMUTATIVE,
         JOB_ANY,
         0,
         {0}},
    /* An aligned input of the outer space, one by index, and the place. */
    [REDUCE_FINISHED] =
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
    [REDUCE_NUMBERED] =
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
