// Package svm is a small support vector machine for two classes: the RBF kernel,
// trained by sequential minimal optimisation with second-order choice of the
// working set (Fan, Chen and Lin 2005), and a grid search by cross-validation.
// It is pure: randomness is passed in, and the same data give the same model.
//
// The three calls that matter:
//
//	cfg, accuracy, err := svm.Search(rng, x, y, svm.DefaultGrid())
//	m, err := svm.Train(x, y, cfg)
//	f := m.Decision(point)        > 0 is the class +1; |f|/m.Norm() is the distance
//
// The caller scales features (Scaler does) and passes at least one point of each
// class. Training n points takes memory for Config.CacheRows rows of n kernel
// values and time between n and n^2 per unit of difficulty: some seconds for
// 10,000 points.
package svm
